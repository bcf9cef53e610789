"""TPC-H's 22 queries as Ibis expressions, with the parameters and the columns of bench/queries.

Written as ibis-substrait 4.0.1 needs it. It refuses arithmetic on dates, so they are computed here; expressions over
aggregates in an aggregation and columns chosen on a join, so a projection follows; anti joins. Other things it accepts
and then writes a plan that says something else:

- a correlated column becomes a column of the subquery itself, so nothing is correlated here;
- a column of a view of a table becomes the first column of all in the condition of a join, so a table that is needed
  twice is projected once;
- a substring begins at the number given, which Ibis counts from 0 and Substrait from 1, so q22 here gives it as Substrait
  does (and is wrong as Ibis);
- a fraction times a decimal becomes a decimal of that scale, 0.0001 becomes 0.00.

`MISTRANSLATED` has these queries as they should be written, to have such plans too.
"""

import ibis
from ibis import _

COUNTRY_CODES = ("13", "31", "23", "29", "30", "18", "17")


def q01(t):
    price = t.lineitem.l_extendedprice * (1 - t.lineitem.l_discount)
    return (
        t.lineitem.filter(_.l_shipdate <= ibis.date("1998-09-02"))
        .group_by("l_returnflag", "l_linestatus")
        .aggregate(
            sum_qty=_.l_quantity.sum(),
            sum_base_price=_.l_extendedprice.sum(),
            sum_disc_price=price.sum(),
            sum_charge=(price * (1 + t.lineitem.l_tax)).sum(),
            avg_qty=_.l_quantity.mean(),
            avg_price=_.l_extendedprice.mean(),
            avg_disc=_.l_discount.mean(),
            count_order=_.count(),
        )
        .order_by("l_returnflag", "l_linestatus")
    )


def _european_offers(t):
    return (
        t.partsupp.join(t.supplier, _.ps_suppkey == t.supplier.s_suppkey)
        .join(t.nation, _.s_nationkey == t.nation.n_nationkey)
        .join(t.region, _.n_regionkey == t.region.r_regionkey)
        .filter(_.r_name == "EUROPE")
    )


def q02(t):
    cheapest = _european_offers(t).group_by(least_partkey=_.ps_partkey).aggregate(least_cost=_.ps_supplycost.min())
    return _q02_order(
        t.part.join(t.partsupp, _.p_partkey == t.partsupp.ps_partkey)
        .join(t.supplier, _.ps_suppkey == t.supplier.s_suppkey)
        .join(t.nation, _.s_nationkey == t.nation.n_nationkey)
        .join(t.region, _.n_regionkey == t.region.r_regionkey)
        .join(cheapest, [_.p_partkey == cheapest.least_partkey, _.ps_supplycost == cheapest.least_cost])
        .filter(_.p_size == 15, _.p_type.like("%BRASS"), _.r_name == "EUROPE")
    )


def _q02_order(offers):
    return (
        offers.select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
        .order_by(_.s_acctbal.desc(), "n_name", "s_name", "p_partkey")
        .limit(100)
    )


def q03(t):
    return (
        t.customer.join(t.orders, _.c_custkey == t.orders.o_custkey)
        .join(t.lineitem, _.o_orderkey == t.lineitem.l_orderkey)
        .filter(
            _.c_mktsegment == "BUILDING",
            _.o_orderdate < ibis.date("1995-03-15"),
            _.l_shipdate > ibis.date("1995-03-15"),
        )
        .group_by("l_orderkey", "o_orderdate", "o_shippriority")
        .aggregate(revenue=(_.l_extendedprice * (1 - _.l_discount)).sum())
        .select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
        .order_by(_.revenue.desc(), "o_orderdate")
        .limit(10)
    )


def q04(t):
    late = t.lineitem.filter(_.l_commitdate < _.l_receiptdate)
    return _q04_count(t.orders.filter(_.o_orderkey.isin(late.l_orderkey)))


def _q04_count(orders):
    return (
        orders.filter(_.o_orderdate >= ibis.date("1993-07-01"), _.o_orderdate < ibis.date("1993-10-01"))
        .group_by("o_orderpriority")
        .aggregate(order_count=_.count())
        .order_by("o_orderpriority")
    )


def q05(t):
    return (
        t.customer.join(t.orders, _.c_custkey == t.orders.o_custkey)
        .join(t.lineitem, _.o_orderkey == t.lineitem.l_orderkey)
        .join(t.supplier, [_.l_suppkey == t.supplier.s_suppkey, _.c_nationkey == t.supplier.s_nationkey])
        .join(t.nation, _.s_nationkey == t.nation.n_nationkey)
        .join(t.region, _.n_regionkey == t.region.r_regionkey)
        .filter(
            _.r_name == "ASIA",
            _.o_orderdate >= ibis.date("1994-01-01"),
            _.o_orderdate < ibis.date("1995-01-01"),
        )
        .group_by("n_name")
        .aggregate(revenue=(_.l_extendedprice * (1 - _.l_discount)).sum())
        .order_by(_.revenue.desc())
    )


def q06(t):
    return t.lineitem.filter(
        _.l_shipdate >= ibis.date("1994-01-01"),
        _.l_shipdate < ibis.date("1995-01-01"),
        _.l_discount.between(0.05, 0.07),
        _.l_quantity < 24,
    ).aggregate(revenue=(_.l_extendedprice * _.l_discount).sum())


def _second_nation(t):
    return t.nation.select(n_nationkey="n_nationkey", n_name_right="n_name")


def q07(t):
    return _q07(t, _second_nation(t))


def _q07(t, of_customer):
    return (
        t.supplier.join(t.lineitem, _.s_suppkey == t.lineitem.l_suppkey)
        .join(t.orders, _.l_orderkey == t.orders.o_orderkey)
        .join(t.customer, _.o_custkey == t.customer.c_custkey)
        .join(t.nation, _.s_nationkey == t.nation.n_nationkey)
        .join(of_customer, _.c_nationkey == of_customer.n_nationkey)
        .filter(
            ((_.n_name == "FRANCE") & (_.n_name_right == "GERMANY")) | ((_.n_name == "GERMANY") & (_.n_name_right == "FRANCE")),
            _.l_shipdate.between(ibis.date("1995-01-01"), ibis.date("1996-12-31")),
        )
        .select(
            supp_nation=_.n_name,
            cust_nation=_.n_name_right,
            l_year=_.l_shipdate.year(),
            volume=_.l_extendedprice * (1 - _.l_discount),
        )
        .group_by("supp_nation", "cust_nation", "l_year")
        .aggregate(revenue=_.volume.sum())
        .order_by("supp_nation", "cust_nation", "l_year")
    )


def q08(t):
    return _q08(t, _second_nation(t))


def _q08(t, of_supplier):
    return (
        t.part.join(t.lineitem, _.p_partkey == t.lineitem.l_partkey)
        .join(t.supplier, _.l_suppkey == t.supplier.s_suppkey)
        .join(t.orders, _.l_orderkey == t.orders.o_orderkey)
        .join(t.customer, _.o_custkey == t.customer.c_custkey)
        .join(t.nation, _.c_nationkey == t.nation.n_nationkey)
        .join(t.region, _.n_regionkey == t.region.r_regionkey)
        .join(of_supplier, _.s_nationkey == of_supplier.n_nationkey)
        .filter(
            _.r_name == "AMERICA",
            _.o_orderdate.between(ibis.date("1995-01-01"), ibis.date("1996-12-31")),
            _.p_type == "ECONOMY ANODIZED STEEL",
        )
        .select(
            o_year=_.o_orderdate.year(),
            volume=_.l_extendedprice * (1 - _.l_discount),
            nation=_.n_name_right,
        )
        .mutate(of_nation=ibis.case().when(_.nation == "BRAZIL", _.volume).else_(0).end())
        .group_by("o_year")
        .aggregate(of_nation=_.of_nation.sum(), volume=_.volume.sum())
        .select("o_year", mkt_share=_.of_nation / _.volume)
        .order_by("o_year")
    )


def q09(t):
    return (
        t.part.join(t.lineitem, _.p_partkey == t.lineitem.l_partkey)
        .join(t.supplier, _.l_suppkey == t.supplier.s_suppkey)
        .join(t.partsupp, [_.l_suppkey == t.partsupp.ps_suppkey, _.l_partkey == t.partsupp.ps_partkey])
        .join(t.orders, _.l_orderkey == t.orders.o_orderkey)
        .join(t.nation, _.s_nationkey == t.nation.n_nationkey)
        .filter(_.p_name.like("%green%"))
        .select(
            nation=_.n_name,
            o_year=_.o_orderdate.year(),
            amount=_.l_extendedprice * (1 - _.l_discount) - _.ps_supplycost * _.l_quantity,
        )
        .group_by("nation", "o_year")
        .aggregate(sum_profit=_.amount.sum())
        .order_by("nation", _.o_year.desc())
    )


def q10(t):
    return (
        t.customer.join(t.orders, _.c_custkey == t.orders.o_custkey)
        .join(t.lineitem, _.o_orderkey == t.lineitem.l_orderkey)
        .join(t.nation, _.c_nationkey == t.nation.n_nationkey)
        .filter(
            _.o_orderdate >= ibis.date("1993-10-01"),
            _.o_orderdate < ibis.date("1994-01-01"),
            _.l_returnflag == "R",
        )
        .group_by("c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment")
        .aggregate(revenue=(_.l_extendedprice * (1 - _.l_discount)).sum())
        .select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment")
        .order_by(_.revenue.desc())
        .limit(20)
    )


def q11(t):
    return _q11(t, lambda total: total.cast("float64"))


def _q11(t, exact):
    stock = (
        t.partsupp.join(t.supplier, _.ps_suppkey == t.supplier.s_suppkey)
        .join(t.nation, _.s_nationkey == t.nation.n_nationkey)
        .filter(_.n_name == "GERMANY")
    )
    total = stock.aggregate(total=(_.ps_supplycost * _.ps_availqty).sum())
    total = total.select(fraction=exact(total.total) * 0.0001)
    return (
        stock.group_by("ps_partkey")
        .aggregate(value=(_.ps_supplycost * _.ps_availqty).sum())
        .filter(_.value > total.fraction.as_scalar())
        .order_by(_.value.desc())
    )


def q12(t):
    is_high = (_.o_orderpriority == "1-URGENT") | (_.o_orderpriority == "2-HIGH")
    is_low = (_.o_orderpriority != "1-URGENT") & (_.o_orderpriority != "2-HIGH")
    return (
        t.orders.join(t.lineitem, _.o_orderkey == t.lineitem.l_orderkey)
        .filter(
            _.l_shipmode.isin(["MAIL", "SHIP"]),
            _.l_commitdate < _.l_receiptdate,
            _.l_shipdate < _.l_commitdate,
            _.l_receiptdate >= ibis.date("1994-01-01"),
            _.l_receiptdate < ibis.date("1995-01-01"),
        )
        .group_by("l_shipmode")
        .aggregate(high_line_count=is_high.ifelse(1, 0).sum(), low_line_count=is_low.ifelse(1, 0).sum())
        .order_by("l_shipmode")
    )


def q13(t):
    return (
        t.customer.left_join(
            t.orders,
            [_.c_custkey == t.orders.o_custkey, ~t.orders.o_comment.like("%special%requests%")],
        )
        .group_by("c_custkey")
        .aggregate(c_count=_.o_orderkey.count())
        .group_by("c_count")
        .aggregate(custdist=_.count())
        .order_by(_.custdist.desc(), _.c_count.desc())
    )


def q14(t):
    sold = t.lineitem.join(t.part, _.l_partkey == t.part.p_partkey).filter(
        _.l_shipdate >= ibis.date("1995-09-01"), _.l_shipdate < ibis.date("1995-10-01")
    )
    revenue = sold.l_extendedprice * (1 - sold.l_discount)
    return sold.aggregate(promotion=sold.p_type.like("PROMO%").ifelse(revenue, 0).sum(), revenue=revenue.sum()).select(
        promo_revenue=100.00 * _.promotion / _.revenue
    )


def q15(t):
    revenue = (
        t.lineitem.filter(_.l_shipdate >= ibis.date("1996-01-01"), _.l_shipdate < ibis.date("1996-04-01"))
        .group_by(supplier_no=_.l_suppkey)
        .aggregate(total_revenue=(_.l_extendedprice * (1 - _.l_discount)).sum())
    )
    return (
        t.supplier.join(revenue, _.s_suppkey == revenue.supplier_no)
        .filter(_.total_revenue == revenue.total_revenue.max().as_scalar())
        .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
        .order_by("s_suppkey")
    )


def q16(t):
    complained = t.supplier.filter(_.s_comment.like("%Customer%Complaints%"))
    return (
        t.partsupp.join(t.part, _.ps_partkey == t.part.p_partkey)
        .filter(
            _.p_brand != "Brand#45",
            ~_.p_type.like("MEDIUM POLISHED%"),
            _.p_size.isin((49, 14, 23, 45, 19, 3, 36, 9)),
            ~_.ps_suppkey.isin(complained.s_suppkey),
        )
        .group_by("p_brand", "p_type", "p_size")
        .aggregate(supplier_cnt=_.ps_suppkey.nunique())
        .order_by(_.supplier_cnt.desc(), "p_brand", "p_type", "p_size")
    )


def q17(t):
    average = (
        t.lineitem.group_by(average_partkey=_.l_partkey)
        .aggregate(average=_.l_quantity.mean())
        .select("average_partkey", fifth=0.2 * _.average)
    )
    return (
        t.lineitem.join(t.part, _.l_partkey == t.part.p_partkey)
        .join(average, _.l_partkey == average.average_partkey)
        .filter(_.p_brand == "Brand#23", _.p_container == "MED BOX", _.l_quantity < _.fifth)
        .aggregate(price=_.l_extendedprice.sum())
        .select(avg_yearly=_.price / 7.0)
    )


def q18(t):
    large = t.lineitem.group_by("l_orderkey").aggregate(quantity=_.l_quantity.sum()).filter(_.quantity > 300)
    return (
        t.customer.join(t.orders, _.c_custkey == t.orders.o_custkey)
        .join(t.lineitem, _.o_orderkey == t.lineitem.l_orderkey)
        .filter(_.o_orderkey.isin(large.l_orderkey))
        .group_by("c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice")
        .aggregate(sum_qty=_.l_quantity.sum())
        .order_by(_.o_totalprice.desc(), "o_orderdate")
        .limit(100)
    )


def q19(t):
    sold = t.lineitem.join(t.part, _.l_partkey == t.part.p_partkey)

    def kind(brand, containers, quantity, size):
        return (
            (sold.p_brand == brand)
            & sold.p_container.isin(containers)
            & (sold.l_quantity >= quantity)
            & (sold.l_quantity <= quantity + 10)
            & sold.p_size.between(1, size)
            & sold.l_shipmode.isin(("AIR", "AIR REG"))
            & (sold.l_shipinstruct == "DELIVER IN PERSON")
        )

    return sold.filter(
        kind("Brand#12", ("SM CASE", "SM BOX", "SM PACK", "SM PKG"), 1, 5)
        | kind("Brand#23", ("MED BAG", "MED BOX", "MED PKG", "MED PACK"), 10, 10)
        | kind("Brand#34", ("LG CASE", "LG BOX", "LG PACK", "LG PKG"), 20, 15)
    ).aggregate(revenue=(_.l_extendedprice * (1 - _.l_discount)).sum())


def _sold_in_1994(t):
    return t.lineitem.filter(_.l_shipdate >= ibis.date("1994-01-01"), _.l_shipdate < ibis.date("1995-01-01"))


def _suppliers_in_canada(t, keys):
    return (
        t.supplier.join(t.nation, _.s_nationkey == t.nation.n_nationkey)
        .filter(_.n_name == "CANADA", _.s_suppkey.isin(keys))
        .select("s_name", "s_address")
        .order_by("s_name")
    )


def q20(t):
    forest = t.part.filter(_.p_name.like("forest%"))
    sold = _sold_in_1994(t).group_by("l_partkey", "l_suppkey").aggregate(quantity=_.l_quantity.sum())
    plenty = t.partsupp.join(sold, [_.ps_partkey == sold.l_partkey, _.ps_suppkey == sold.l_suppkey]).filter(
        _.ps_partkey.isin(forest.p_partkey), _.ps_availqty > 0.5 * _.quantity
    )
    return _suppliers_in_canada(t, plenty.ps_suppkey)


def q21(t):
    suppliers = t.lineitem.group_by(several_orderkey=_.l_orderkey).aggregate(several=_.l_suppkey.nunique())
    late = t.lineitem.filter(_.l_receiptdate > _.l_commitdate).group_by(late_orderkey=_.l_orderkey).aggregate(late=_.l_suppkey.nunique())
    return _q21_count(
        t.supplier.join(t.lineitem, _.s_suppkey == t.lineitem.l_suppkey)
        .join(t.orders, _.l_orderkey == t.orders.o_orderkey)
        .join(t.nation, _.s_nationkey == t.nation.n_nationkey)
        .join(suppliers, _.l_orderkey == suppliers.several_orderkey)
        .join(late, _.l_orderkey == late.late_orderkey)
        .filter(_.several > 1, _.late == 1)
    )


def _q21_count(waiting):
    return (
        waiting.filter(_.o_orderstatus == "F", _.l_receiptdate > _.l_commitdate, _.n_name == "SAUDI ARABIA")
        .group_by("s_name")
        .aggregate(numwait=_.count())
        .order_by(_.numwait.desc(), "s_name")
        .limit(100)
    )


def q22(t):
    return _q22_count(t, 1, lambda customers: customers.filter(~_.c_custkey.isin(t.orders.o_custkey)))


def _q22_count(t, first, without_orders):
    customers = t.customer.filter(_.c_phone.substr(first, 2).isin(COUNTRY_CODES))
    average = customers.filter(_.c_acctbal > 0.00).c_acctbal.mean().as_scalar()
    return (
        without_orders(customers.filter(_.c_acctbal > average))
        .select(_.c_phone.substr(first, 2).name("cntrycode"), "c_acctbal")
        .group_by("cntrycode")
        .aggregate(numcust=_.count(), totacctbal=_.c_acctbal.sum())
        .order_by("cntrycode")
    )


# --- the plans that ibis-substrait makes of these are wrong ---


def mistranslated_q02(t):
    offers = (
        t.part.join(t.partsupp, _.p_partkey == t.partsupp.ps_partkey)
        .join(t.supplier, _.ps_suppkey == t.supplier.s_suppkey)
        .join(t.nation, _.s_nationkey == t.nation.n_nationkey)
        .join(t.region, _.n_regionkey == t.region.r_regionkey)
    )
    inner = _european_offers(t)
    least = inner.filter(inner.ps_partkey == offers.p_partkey).ps_supplycost.min()
    return _q02_order(
        offers.filter(
            offers.p_size == 15,
            offers.p_type.like("%BRASS"),
            offers.r_name == "EUROPE",
            offers.ps_supplycost == least,
        )
    )


def mistranslated_q04(t):
    late = (t.lineitem.l_orderkey == t.orders.o_orderkey) & (t.lineitem.l_commitdate < t.lineitem.l_receiptdate)
    return _q04_count(t.orders.filter(late.any()))


def mistranslated_q07(t):
    return _q07(t, t.nation.view())


def mistranslated_q08(t):
    return _q08(t, t.nation.view())


def mistranslated_q11(t):
    return _q11(t, lambda total: total)


def mistranslated_q17(t):
    sold = t.lineitem.join(t.part, _.l_partkey == t.part.p_partkey)
    inner = t.lineitem.view()
    average = inner.filter(inner.l_partkey == sold.p_partkey).l_quantity.mean()
    return (
        sold.filter(sold.p_brand == "Brand#23", sold.p_container == "MED BOX", sold.l_quantity < 0.2 * average)
        .aggregate(price=_.l_extendedprice.sum())
        .select(avg_yearly=_.price / 7.0)
    )


def mistranslated_q20(t):
    forest = t.part.filter(_.p_name.like("forest%"))
    inner = _sold_in_1994(t)
    quantity = inner.filter(inner.l_partkey == t.partsupp.ps_partkey, inner.l_suppkey == t.partsupp.ps_suppkey).l_quantity.sum()
    plenty = t.partsupp.filter(t.partsupp.ps_partkey.isin(forest.p_partkey), t.partsupp.ps_availqty > 0.5 * quantity)
    return _suppliers_in_canada(t, plenty.ps_suppkey)


def mistranslated_q21(t):
    second, third = t.lineitem.view(), t.lineitem.view()
    waiting = (
        t.supplier.join(t.lineitem, _.s_suppkey == t.lineitem.l_suppkey)
        .join(t.orders, _.l_orderkey == t.orders.o_orderkey)
        .join(t.nation, _.s_nationkey == t.nation.n_nationkey)
        .filter(_.o_orderstatus == "F")
    )
    other = (second.l_orderkey == waiting.l_orderkey) & (second.l_suppkey != waiting.l_suppkey)
    late = (third.l_orderkey == waiting.l_orderkey) & (third.l_suppkey != waiting.l_suppkey) & (third.l_receiptdate > third.l_commitdate)
    return _q21_count(waiting.filter(other.any(), ~late.any()))


def mistranslated_q22(t):
    return _q22_count(t, 0, lambda customers: customers.filter(~(t.orders.o_custkey == customers.c_custkey).any()))


QUERIES = {f"q{number:02}": globals()[f"q{number:02}"] for number in range(1, 23)}
MISTRANSLATED = {f"q{number:02}": globals()[f"mistranslated_q{number:02}"] for number in (2, 4, 7, 8, 11, 17, 20, 21, 22)}
