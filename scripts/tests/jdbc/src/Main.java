import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;

/** Runs every public method of the classes of checks, each with a connection of its own, and says how each one ended. */
public final class Main {
  private static final List<Class<? extends Check>> CHECKS =
      List.of(Values.class, Utc.class, Parameters.class, Changes.class, Metadata.class, Running.class, Failures.class, Limits.class);

  public static void main(String[] names) throws Exception {
    Logger.getLogger("").setLevel(Level.WARNING);
    int passed = 0;
    int failed = 0;
    for (Class<? extends Check> type : CHECKS) {
      Method[] methods = type.getDeclaredMethods();
      Arrays.sort(methods, Comparator.comparing(Method::getName));
      for (Method method : methods) {
        String name = type.getSimpleName() + "." + method.getName();
        boolean isCheck = Modifier.isPublic(method.getModifiers()) && method.getParameterCount() == 0;
        if (!isCheck || (names.length > 0 && Arrays.stream(names).noneMatch(name::startsWith))) {
          continue;
        }
        Throwable failure = run(type, method);
        if (failure == null) {
          passed++;
          System.out.println("ok " + name);
        } else {
          failed++;
          System.out.println("FAILED " + name);
          failure.printStackTrace(System.out);
        }
      }
    }
    System.out.println(passed + " passed, " + failed + " failed");
    System.out.flush();
    // The driver has threads that do not end by themselves.
    System.exit(failed == 0 ? 0 : 1);
  }

  private static Throwable run(Class<? extends Check> type, Method method) throws Exception {
    try (Check check = type.getDeclaredConstructor().newInstance()) {
      method.invoke(check);
      return null;
    } catch (InvocationTargetException error) {
      return error.getCause();
    } catch (Exception error) {
      return error;
    }
  }
}
