import io.substrait.isthmus.SqlToSubstrait;
import io.substrait.isthmus.sql.SubstraitCreateStatementParser;
import io.substrait.plan.PlanProtoConverter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.calcite.prepare.CalciteCatalogReader;

/** {@code Plans SCHEMA.sql TARGET QUERY.sql...}: a plan per query in TARGET, or why Isthmus refused it. */
public final class Plans {
    public static void main(String[] arguments) throws Exception {
        var schema = Files.readString(Path.of(arguments[0]));
        var target = Path.of(arguments[1]);
        CalciteCatalogReader tables =
                SubstraitCreateStatementParser.processCreateStatementsToCatalog(List.of(schema));
        for (int i = 2; i < arguments.length; i++) {
            var query = Path.of(arguments[i]);
            var name = query.getFileName().toString().replace(".sql", "");
            try {
                // A new one each time: what a plan holds must not hang on the plans made before.
                var plan = new SqlToSubstrait().convert(Files.readString(query), tables);
                Files.write(target.resolve(name + ".bin"), new PlanProtoConverter().toProto(plan).toByteArray());
            } catch (Exception | AssertionError refused) {
                Files.writeString(target.resolve(name + ".refused"), String.valueOf(refused.getMessage()));
            }
        }
    }

    private Plans() {}
}
