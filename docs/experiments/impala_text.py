# Copyright the spark-zorder developers
# SPDX-License-Identifier: Apache-2.0

"""The experiments of a text by the authors of Impala's Z-order. Each is a function, whose docstring the page shows.

Each returns the page's lines: tables that were measured, and statements that were checked.
"""

from __future__ import annotations

from benchmarks.demo.queries import COLUMNS, ONE_CUSTOMER, ONE_DEMOGRAPHICS
from benchmarks.shared.markdown import table
from benchmarks.shared.minmax import MinMax
from docs.experiments import data, picture
from docs.experiments.lab import Case
from docs.experiments.setting import Setting

UNORDERED, LEXICAL, ZORDER, BITS = "unordered", "lexical", "ZORDER BY", "bits"


def store_sales(setting: Setting) -> list[str]:
    """TPC-DS store_sales in one file.

    The text writes `store_sales` (scale factor 1: 2,880,404 rows) to a single file, in Z-order of
    `ss_customer_sk` and `ss_cdemo_sk`, and counts the pages that min/max rules out for two values. This
    experiment does the same: one file, pages of at most 20,000 rows. For `ss_cdemo_sk = 961370` the text
    reports that 91.5 % of the pages of all columns are ruled out. Here only the pages of the filtered column
    count. One value may be lucky, so the second table has the mean over 200 values that the rows hold.
    """
    lab = setting.lab(setting.sales_page_rows)
    rows = setting.spark.read.parquet(str(setting.store_sales))
    source = lab.unordered("store_sales", rows, 1)
    layouts = {
        UNORDERED: source,
        LEXICAL: lab.lexical(source, *COLUMNS),
        ZORDER: lab.optimized(source, *COLUMNS),
    }
    lines = []
    for layout, path in layouts.items():
        files = sorted(path.glob("*.parquet"))
        minmax = MinMax(files, COLUMNS)
        for query in (ONE_CUSTOMER, ONE_DEMOGRAPHICS):
            pages = minmax.reads([query]).pages
            out = pages.total - pages.read
            lines.append(
                [layout, query.sql(), f"{pages.total:,}", f"{out:,}", f"{out / pages.total:.1%}"]
            )
    case = lab.ask(COLUMNS, layouts)
    return [
        table(["layout", "query", "pages", "ruled out", "share"], lines),
        case.text(),
        _further_columns_gain(case, *COLUMNS),
    ]


def uniform_two(setting: Setting) -> list[str]:
    """Uniform data, two columns.

    Independent columns, evenly spread, as many values as rows. The lexical sort is perfect for its first
    column and worthless for its second. After ZORDER BY, a query on the first column reads 4 of 16 files
    instead of 1, and a query on the second column reads 4 instead of 16.
    """
    return _uniform(setting, "ab")


def uniform_four(setting: Setting) -> list[str]:
    """Uniform data, four columns.

    The same experiment with four columns: each column gets less, and all get the same. A lexical sort
    serves only its first column, however many follow.
    """
    return _uniform(setting, "abcd")


def more_columns(setting: Setting) -> list[str]:
    """What each further column costs.

    One table has eight independent columns in N files, ordered by the first one, two, three, ... of them.
    Column `a` is in each order. The more columns the order has, the more files a point query on `a` reads:
    about N^(1 - 1/d) files with d columns. From 6 columns on the number hardly grows here.
    """
    lab = setting.lab()
    rows = data.uniform(setting.spark, setting.rows, 8)
    source = lab.unordered("eight", rows, setting.many_files)
    lines = []
    for count in (1, 2, 3, 4, 6, 8):
        columns = "abcdefgh"[:count]
        reading = lab.ask("a", {ZORDER: lab.optimized(source, *columns)}).of(ZORDER, "a")
        ideal = reading.all_files ** (1 - 1 / count)
        lines.append([str(count), f"{reading.files:.1f} of {reading.all_files}", f"{ideal:.1f}"])
    return [table(["columns", "files of a point query on a", "N^(1 - 1/d)"], lines)]


def correlated(setting: Setting) -> list[str]:
    """Where Z-order does not pay: columns that go together.

    Flights have a departure and an arrival 30 to 600 minutes later. A sort by one of them almost sorts by
    the other. The second of them gains nothing from ZORDER BY: name an independent column instead, here
    the plane.
    """
    lab = setting.lab()
    source = lab.unordered("flights", data.flights(setting.spark, setting.rows), setting.files)
    by_departure, both, with_plane = "departure alone", "departure, arrival", "departure, plane"
    case = lab.ask(
        ["departure", "arrival", "plane"],
        {
            UNORDERED: source,
            by_departure: lab.optimized(source, "departure"),
            both: lab.optimized(source, "departure", "arrival"),
            with_plane: lab.optimized(source, "departure", "plane"),
        },
    )
    alone, paired, mixed = (case.of(one, "plane") for one in (by_departure, both, with_plane))
    return [
        case.text(),
        _checked(
            mixed.files < 0.6 * min(alone.files, paired.files),
            f"A point query on `plane` reads {alone.files:.1f} of {alone.all_files} files after an order by "
            f"departure, {paired.files:.1f} by departure and arrival, {mixed.files:.1f} by departure and plane.",
        ),
        _checked(
            case.of(by_departure, "arrival").files < case.of(both, "arrival").files + 1,
            f"After an order by departure alone, a point query on `arrival` reads "
            f"{case.of(by_departure, 'arrival').files:.1f} of {alone.all_files} files.",
        ),
    ]


def few_values(setting: Setting) -> list[str]:
    """Where Z-order does not pay: few distinct values.

    `paid` has 2 values and `status` 5. No layout reads less than the share of the rows that have the value.
    After a lexical sort, each value of the first column still has enough files to be sorted by the next
    column. If both columns have few values, the two layouts differ little, and partitions by these columns
    would do as well. A query by `customer`, which has many values, reads fewer files after ZORDER BY.
    """
    lab = setting.lab()
    source = lab.unordered("orders", data.orders(setting.spark, setting.rows), setting.files)
    few = lab.ask(
        ["paid", "status"],
        {
            UNORDERED: source,
            LEXICAL: lab.lexical(source, "paid", "status"),
            ZORDER: lab.optimized(source, "paid", "status"),
        },
    )
    mixed = lab.ask(
        ["status", "customer"],
        {
            UNORDERED: source,
            LEXICAL: lab.lexical(source, "status", "customer"),
            ZORDER: lab.optimized(source, "status", "customer"),
        },
    )
    return ["By `paid` and `status`:", few.text(), "By `status` and `customer`:", mixed.text()]


def sparse(setting: Setting) -> list[str]:
    """Where Z-order of raw bits does not pay: small ranges and sparse values.

    The text warns of values in a small range and of sparse values. Both problems come from interleaving the
    bits of the values as they are (*bits*: a sort by `zorder_by_value`). `wide` is spread over 2^62 numbers
    and decides the order alone: the bits in which values of `narrow` differ come too late to count.
    OPTIMIZE does not interleave bits of values. It cuts by the ranks of the values, so the range makes no
    difference.

    The second table has values of very different sizes: as many from 2 to 4 as from 1,024 to 2,048, and so
    on for all powers of two.
    """
    lab = setting.lab()
    texts = []
    for name, rows, columns in (
        ("sparse", data.sparse(setting.spark, setting.rows), ("wide", "narrow")),
        ("sizes", data.sizes(setting.spark, setting.rows), ("bytes", "price")),
    ):
        source = lab.unordered(name, rows, setting.files)
        case = lab.ask(
            columns,
            {
                UNORDERED: source,
                LEXICAL: lab.lexical(source, *columns),
                BITS: lab.by_bits(source, *columns),
                ZORDER: lab.optimized(source, *columns),
            },
        )
        texts += [case.text(), _further_columns_gain(case, *columns)]
    return texts


EXPERIMENTS = (
    store_sales,
    uniform_two,
    uniform_four,
    more_columns,
    correlated,
    few_values,
    sparse,
)


def _uniform(setting: Setting, columns: str) -> list[str]:
    lab = setting.lab()
    rows = data.uniform(setting.spark, setting.rows, len(columns))
    source = lab.unordered(f"uniform_{len(columns)}", rows, setting.files)
    layouts = {
        UNORDERED: source,
        LEXICAL: lab.lexical(source, *columns),
        ZORDER: lab.optimized(source, *columns),
    }
    case = lab.ask(columns, layouts)
    image = setting.images / f"experiment_uniform_{len(columns)}.png"
    picture.ruled_out(case, list(layouts), columns, image)
    shown = f"![Pages ruled out by column and layout](../images/{image.name})"
    return [case.text(), shown, _further_columns_gain(case, *columns)]


def _further_columns_gain(case: Case, first: str, *others: str) -> str:
    """Check that Z-order rules out more pages than the lexical sort for each column but the first.

    Check, too, that no column gets half or less of what the best column gets.
    """
    shares = {c: case.of(ZORDER, c).ruled_out() for c in (first, *others)}
    lexical = {c: case.of(LEXICAL, c).ruled_out() for c in others}
    holds = all(shares[c] > lexical[c] for c in others) and min(shares.values()) > 0.5 * max(
        shares.values()
    )
    said = ", ".join(f"{share:.1%} for `{column}`" for column, share in shares.items())
    beside = ", ".join(f"{share:.1%} for `{column}`" for column, share in lexical.items())
    return _checked(
        holds, f"Pages ruled out after ZORDER BY: {said}; by the lexical sort: {beside}."
    )


def _checked(holds: bool, said: str) -> str:
    if not holds:
        raise AssertionError(f"does not hold: {said}")
    return said
