package io.sparkzorder.protocol

/**
 * A table, and those who work on it at once.
 *
 * @param folders files by folder, each with its rows
 * @param mortal actors that may be killed before any of their steps
 * @param crashes how many may be killed
 */
final case class Scenario(
    name: String,
    folders: Map[String, Map[String, Seq[String]]],
    actors: Seq[(String, RewriterModel => Program[Any])],
    mortal: Set[String] = Set.empty,
    crashes: Int = 0,
    overwritten: Set[String] = Set.empty,
    rewritesFile: Boolean = false,
    prepare: Disk => Disk = identity) {

  def explore(variant: Variant.Value = Variant.AsBuilt): Explored = {
    val model = new RewriterModel(variant)
    val invariants = new Invariants(
      folders.map { case (f, files) => f -> files.values.flatten.toSeq },
      overwritten,
      rewritesFile,
      variant)
    new Explorer(mortal, crashes, invariants.always, invariants.atEnd)
      .explore(prepare(disk), actors.map { case (n, p) => Actor(n, p(model)) })
  }

  private def disk: Disk = folders.foldLeft(Disk(Map.empty, Set.empty)) {
    case (d, (folder, files)) =>
      files.foldLeft(d.makeDirectories(folder)) { case (now, (name, rows)) =>
        now.put(s"$folder/$name", Rows(rows)).get
      }
  }
}

object Scenario {
  private type Who = (String, RewriterModel => Program[Any])

  private val p = "t/p"
  private val twoFiles = Map(p -> Map("a" -> Seq("a1", "a2"), "b" -> Seq("b1")))
  private val oneFile = Map(p -> Map("a" -> Seq("a1", "a2")))
  private val small = Map(p -> Map("a" -> Seq("a1")))
  private val atRoot = Map("t" -> Map("a" -> Seq("a1", "a2")))

  private val rewriter: Who = "rewriter" -> (_.optimize("r1"))
  private val second: Who = "second rewriter" -> (_.optimize("r2"))
  private val recoverer: Who = "recoverer" -> (_.recover)
  private val another: Who = "another recoverer" -> (_.recover)
  private val appender: Who = "appender" -> (_ => WriterModels.append(p, Seq("x")))
  private def overwriter(row: String): Who =
    "partition overwriter" -> (_ => WriterModels.overwrite(p, p, Seq(row)))
  private val fileWriter: Who =
    "file writer" -> (_ => WriterModels.overwriteFile(s"$p/b", Seq("y")))
  private val plain: Who = "reader without the extension" -> (_ => ReaderModels.plain(p))
  private val overlay: Who = "reader with the extension" -> (_ => ReaderModels.overlay(p))
  private def dropper(stateFirst: Boolean, into: String = p): Who =
    "table overwriter" -> (_ => WriterModels.overwrite("t", into, Seq("w"), stateFirst))

  private val killed = Set("rewriter", "second rewriter", "recoverer", "another recoverer")

  val recovery: Scenario = Scenario(
    "rewriter, appender, recoverer, two crashes",
    oneFile,
    Seq(rewriter, appender, recoverer),
    killed,
    crashes = 2)

  val twoRecoverers: Scenario = Scenario(
    "rewriter, two recoverers, two crashes",
    small,
    Seq(rewriter, recoverer, another),
    killed,
    crashes = 2)

  val partitionOverwritten: Scenario = Scenario(
    "rewriter, partition overwriter, appender, crash",
    twoFiles,
    Seq(rewriter, overwriter("w"), appender),
    killed,
    crashes = 1,
    overwritten = Set(p))

  val partitionOverwrittenAndRecovered: Scenario = Scenario(
    "rewriter, partition overwriter, recoverer, crash",
    small,
    Seq(rewriter, overwriter("w"), recoverer),
    killed,
    crashes = 1,
    overwritten = Set(p))

  def tableOverwritten(stateFirst: Boolean): Scenario = Scenario(
    s"rewriter, table overwriter (${if (stateFirst) "_zorder" else "data"} first), crash",
    oneFile,
    Seq(rewriter, dropper(stateFirst)),
    killed,
    crashes = 1,
    overwritten = Set("t"))

  val unpartitionedOverwritten: Scenario = Scenario(
    "rewriter, overwriter of an unpartitioned table, crash",
    atRoot,
    Seq(rewriter, dropper(stateFirst = true, into = "t")),
    killed,
    crashes = 1,
    overwritten = Set("t"))

  val twoRewriters: Scenario = Scenario(
    "two rewriters, appender, crash",
    small,
    Seq(rewriter, second, appender),
    killed,
    crashes = 1)

  private val twoSmallFiles = Map(p -> Map("a" -> Seq("a1"), "b" -> Seq("b1")))

  val fileOverwritten: Scenario = Scenario(
    "rewriter, a writer of one file under its old name, crash",
    twoSmallFiles,
    Seq(rewriter, fileWriter),
    killed,
    crashes = 1,
    rewritesFile = true)

  val stagedRemoved: Scenario = Scenario(
    "rewriter, somebody who removes a staged file, recoverer, crash",
    oneFile,
    Seq(rewriter, "remover" -> (_ => WriterModels.removeStaged("r1")), recoverer),
    killed,
    crashes = 1)

  val readers: Scenario = Scenario(
    "rewriter, reader without and with the extension, crash",
    oneFile,
    Seq(rewriter, plain, overlay),
    killed,
    crashes = 1)

  val twoRewritersRead: Scenario = Scenario(
    "two rewriters, reader with the extension",
    small,
    Seq(rewriter, second, overlay))

  /** A publisher that is late to mark its run, while the table is overwritten and optimized anew. */
  val latePublisher: Scenario = {
    val record = RewriterModel.recordOf("late", Seq(Listed(p, "a", Rows(Seq("a1")))))
    Scenario(
      "late publisher, table overwriter, new rewriter, crash",
      Map(p -> Map("n-late-0-0" -> Seq("a1"))),
      Seq("publisher" -> (_.finish(1, record)), dropper(stateFirst = true), second),
      killed,
      crashes = 1,
      overwritten = Set("t"),
      prepare = _.makeDirectories(Places.commits)
        .put(Places.record(1), Committed(record)).get.note(RunCommitted(1, "late")))
  }

  /** What `make test` runs, a few seconds each. */
  val quick: Seq[Scenario] = Seq(
    recovery,
    twoRecoverers,
    partitionOverwritten,
    partitionOverwrittenAndRecovered,
    tableOverwritten(stateFirst = true),
    tableOverwritten(stateFirst = false),
    unpartitionedOverwritten,
    twoRewriters,
    fileOverwritten,
    stagedRemoved,
    readers,
    latePublisher)

  /** What `make torture` runs besides. */
  val large: Seq[Scenario] = Seq(
    twoRewritersRead,
    Scenario(
      "rewriter, appender, two recoverers, two crashes",
      twoFiles,
      Seq(rewriter, appender, recoverer, another),
      killed,
      crashes = 2),
    Scenario(
      "rewriter, partition overwriter, appender, recoverer, crash",
      twoFiles,
      Seq(rewriter, overwriter("w"), appender, recoverer),
      killed,
      crashes = 1,
      overwritten = Set(p)),
    Scenario(
      "rewriter, appender, partition overwriter, table overwriter, crash",
      small,
      Seq(rewriter, appender, overwriter("v"), dropper(stateFirst = true)),
      killed,
      crashes = 1,
      overwritten = Set(p, "t")),
    Scenario(
      "rewriter, table overwriter, recoverer, crash",
      oneFile,
      Seq(rewriter, dropper(stateFirst = true), recoverer),
      killed,
      crashes = 1,
      overwritten = Set("t")))
}
