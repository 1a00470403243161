// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

package io.sparkzorder.errors

/** One factory method for each condition of `zorder-error-conditions.json`. */
private[sparkzorder] object ZOrderErrors {

  def boundsInvalid(function: String, problem: String): ZOrderException =
    error("ZORDER_BOUNDS_INVALID", "function" -> function, "problem" -> problem)

  def bucketsUnknown(directory: String): ZOrderException =
    error("ZORDER_BUCKETS_UNKNOWN", "directory" -> directory)

  def codecNotAvailable(file: String, codec: String, problem: String): ZOrderException =
    error("ZORDER_CODEC_NOT_AVAILABLE", "file" -> file, "codec" -> codec, "problem" -> problem)

  def columnDuplicated(column: String, target: String): ZOrderException =
    error("ZORDER_COLUMN_DUPLICATED", "column" -> quoted(column), "target" -> target)

  def columnIsPartitionColumn(column: String, target: String): ZOrderException =
    error("ZORDER_COLUMN_IS_PARTITION_COLUMN", "column" -> quoted(column), "target" -> target)

  def columnNotFound(column: String, target: String, columns: Seq[String]): ZOrderException =
    error(
      "ZORDER_COLUMN_NOT_FOUND",
      "column" -> quoted(column),
      "target" -> target,
      "columns" -> list(columns))

  def columnNotOrderable(
      column: String,
      target: String,
      dataType: String,
      reason: String): ZOrderException =
    error(
      "ZORDER_COLUMN_NOT_ORDERABLE",
      "column" -> quoted(column),
      "target" -> target,
      "type" -> dataType,
      "reason" -> reason)

  /** @param cause the error of a table format that found the conflict */
  def conflict(target: String, change: String, cause: Option[Throwable] = None): ZOrderException =
    new ZOrderException("ZORDER_CONFLICT", Map("target" -> target, "change" -> change), cause)

  def directoryNotWritable(target: String, directory: String, user: String): ZOrderException =
    error(
      "ZORDER_DIRECTORY_NOT_WRITABLE",
      "target" -> target,
      "directory" -> directory,
      "user" -> user)

  def directorySticky(
      target: String,
      directory: String,
      file: String,
      owner: String,
      user: String): ZOrderException =
    error(
      "ZORDER_DIRECTORY_STICKY",
      "target" -> target,
      "directory" -> directory,
      "file" -> file,
      "owner" -> owner,
      "user" -> user)

  def extensionMissing(statement: String): ZOrderException =
    error("ZORDER_EXTENSION_MISSING", "statement" -> statement)

  def filesOutsidePartitions(target: String, file: String): ZOrderException =
    error("ZORDER_FILES_OUTSIDE_PARTITIONS", "target" -> target, "file" -> file)

  /** @param files names of files that the run replaced */
  def filesReturned(
      target: String,
      directory: String,
      files: Seq[String],
      run: String): ZOrderException =
    error(
      "ZORDER_FILES_RETURNED",
      "target" -> target,
      "directory" -> directory,
      "files" -> some(files),
      "run" -> run)

  /**
   * @param token the name of the run's token in the directory
   * @param commits where the records are
   * @param hidden the directory of the run, where the replaced files are
   * @param missing if the directory of the run is gone: which of the new files of the run are not in the directory
   * @param isDone false for a run without a record
   */
  def recordLost(
      directory: String,
      token: String,
      commits: String,
      hidden: String,
      missing: Option[Seq[String]],
      isDone: Boolean): ZOrderException = {
    // Without its done mark, a run would be opened again in all of its folders, also where it has ended. And where
    // later runs build on a run that is done, neither its replaced files nor its new files are right.
    val (problem, remedy) =
      if (isDone) {
        s"the run is done by its record in $commits: the directory and the record come from copies of different " +
          "times, or the directory was elsewhere when the run ended" ->
          ("Restore the data and _zorder of the whole table as they were at one moment. " +
            (missing match {
              case None =>
                s"Without such a copy, copy the directory, with $hidden, to a place outside the table, and ask the " +
                  "maintainers of spark-zorder. Do not move or remove any of its files before, and no file of " +
                  "_zorder: later runs may build on the end of this run."
              case Some(Nil) =>
                s"Or, because the directory has all new files of the run and only $token is left: remove $token."
              case Some(files) =>
                s"Or, because the directory came without $hidden and without the new files ${some(files)} of the run: " +
                  s"bring those of them here that no later run has replaced, then remove $token."
            }))
      } else {
        s"its record in $commits is gone, or the directory came from another table" ->
          (s"Restore $commits from a backup, and run RECOVER LAYOUT; or move the directory back into the other table, " +
            s"and run RECOVER LAYOUT there. Otherwise: the files _change_* in $hidden have the names of the replaced " +
            "files (_old_*) and of the new ones (_new_*), which are there or have their names. Bring either all of " +
            "the replaced files or all of the new ones into the directory and move the others away, then remove " +
            s"$token. If $hidden is not there, only $token is left of the run: remove it.")
      }
    error(
      "ZORDER_RECORD_LOST",
      "directory" -> directory,
      "token" -> token,
      "problem" -> problem,
      "remedy" -> remedy)
  }

  /** @param hidden the directory of the run, where the replaced files are */
  def folderInDoubt(directory: String, run: String, hidden: String): ZOrderException =
    error("ZORDER_FOLDER_IN_DOUBT", "directory" -> directory, "run" -> run, "hidden" -> hidden)

  def fileEncrypted(file: String): ZOrderException =
    error("ZORDER_FILE_ENCRYPTED", "file" -> file)

  /** @param format the format in which the file was read */
  def fileUnreadable(file: String, cause: Throwable, format: String): ZOrderException =
    new ZOrderException(
      "ZORDER_FILE_UNREADABLE",
      Map("file" -> file, "format" -> format, "problem" -> firstLine(cause)),
      Some(cause))

  /** @param data what OPTIMIZE would lose */
  def footerHoldsData(file: String, data: String): ZOrderException =
    error("ZORDER_FOOTER_HOLDS_DATA", "file" -> file, "data" -> data)

  def incompatibleSchemas(
      target: String,
      column: String,
      left: String,
      leftFile: String,
      right: String,
      rightFile: String): ZOrderException =
    error(
      "ZORDER_INCOMPATIBLE_SCHEMAS",
      "target" -> target,
      "column" -> quoted(column),
      "left" -> left,
      "leftFile" -> leftFile,
      "right" -> right,
      "rightFile" -> rightFile)

  def indexColumnInvalid(column: String, target: String, reason: String): ZOrderException =
    error(
      "ZORDER_INDEX_COLUMN_INVALID",
      "column" -> quoted(column),
      "target" -> target,
      "reason" -> reason)

  def indexExists(target: String): ZOrderException =
    error("ZORDER_INDEX_EXISTS", "target" -> target)

  def indexNotFound(target: String): ZOrderException =
    error("ZORDER_INDEX_NOT_FOUND", "target" -> target)

  def invalidSetting(key: String, value: String, problem: String): ZOrderException =
    error("ZORDER_INVALID_SETTING", "key" -> key, "value" -> value, "problem" -> problem)

  def inPlaceUnsafe(target: String, scheme: String): ZOrderException =
    error("ZORDER_IN_PLACE_UNSAFE_FILE_SYSTEM", "target" -> target, "scheme" -> scheme)

  def storeUnsafe(target: String, store: String, problem: String): ZOrderException =
    error("ZORDER_STORE_UNSAFE", "target" -> target, "store" -> store, "problem" -> problem)

  def layoutNotKnown(target: String, problem: String): ZOrderException =
    error("ZORDER_LAYOUT_NOT_KNOWN", "target" -> target, "problem" -> problem)

  def listingIncomplete(directory: String, problem: String): ZOrderException =
    error("ZORDER_LISTING_INCOMPLETE", "directory" -> directory, "problem" -> problem)

  /** @param files names that a run has replaced */
  def namesReused(
      target: String,
      directory: String,
      files: Seq[String],
      run: String): ZOrderException =
    error(
      "ZORDER_NAMES_REUSED",
      "target" -> target,
      "directory" -> directory,
      "files" -> some(files),
      "run" -> run)

  def notEnoughSpace(
      target: String,
      directory: String,
      needed: String,
      free: String): ZOrderException =
    error(
      "ZORDER_NOT_ENOUGH_SPACE",
      "target" -> target,
      "directory" -> directory,
      "needed" -> needed,
      "free" -> free)

  def notAQuery(statement: String): ZOrderException =
    error("ZORDER_NOT_A_QUERY", "statement" -> statement)

  def nothingToUndo(target: String): ZOrderException =
    error("ZORDER_NOTHING_TO_UNDO", "target" -> target)

  def partitionOutsideTable(target: String, spec: String, location: String): ZOrderException =
    error(
      "ZORDER_PARTITION_OUTSIDE_TABLE",
      "target" -> target,
      "partition" -> spec,
      "location" -> location)

  def partitionTooLarge(
      target: String,
      folder: String,
      bytes: Long,
      limit: Long,
      needed: Long): ZOrderException =
    error(
      "ZORDER_PARTITION_TOO_LARGE",
      "target" -> target,
      "folder" -> folder,
      "bytes" -> bytes.toString,
      "limit" -> limit.toString,
      "needed" -> needed.toString)

  def pathInTable(path: String, root: String, marker: String): ZOrderException =
    error("ZORDER_PATH_IN_TABLE", "path" -> path, "root" -> root, "marker" -> marker)

  def pathNotATable(
      path: String,
      problem: String,
      cause: Option[Throwable] = None): ZOrderException =
    new ZOrderException(
      "ZORDER_PATH_NOT_A_TABLE",
      Map("path" -> path, "problem" -> problem),
      cause)

  /** @param cause the error of the file system */
  def permissionDenied(statement: String, user: String, cause: Throwable): ZOrderException =
    new ZOrderException(
      "ZORDER_PERMISSION_DENIED",
      Map("statement" -> statement, "user" -> user, "problem" -> cause.toString),
      Some(cause))

  def predicateNotOnPartitions(
      statement: String,
      predicate: String,
      columns: Seq[String],
      target: String,
      partitionColumns: Seq[String]): ZOrderException =
    error(
      "ZORDER_PREDICATE_NOT_ON_PARTITIONS",
      "statement" -> statement,
      "predicate" -> predicate,
      "columns" -> list(columns),
      "target" -> target,
      "partitionColumns" -> (if (partitionColumns.isEmpty) "none" else list(partitionColumns)))

  def predicateNotTranslatable(where: String, target: String, problem: String): ZOrderException =
    error(
      "ZORDER_PREDICATE_NOT_TRANSLATABLE",
      "predicate" -> where,
      "target" -> target,
      "problem" -> problem)

  /** @param outcome what became of the files that the run replaced, as a sentence */
  def publishConflict(
      directory: String,
      run: String,
      change: String,
      outcome: String): ZOrderException =
    error(
      "ZORDER_PUBLISH_CONFLICT",
      "directory" -> directory,
      "run" -> run,
      "change" -> change,
      "outcome" -> outcome)

  def samplingNotSupported(function: String, where: String): ZOrderException =
    error("ZORDER_SAMPLING_NOT_SUPPORTED", "function" -> function, "where" -> where)

  def stateLost(target: String): ZOrderException = error("ZORDER_STATE_LOST", "target" -> target)

  /** @param advice what to use instead */
  def sortByUnsupported(target: String, kind: String, advice: String): ZOrderException =
    error("ZORDER_SORT_BY_UNSUPPORTED", "target" -> target, "kind" -> kind, "advice" -> advice)

  def stateUnreadable(record: String, problem: String): ZOrderException =
    error("ZORDER_STATE_UNREADABLE", "record" -> record, "problem" -> problem)

  def symbolicLink(target: String, link: String): ZOrderException =
    error("ZORDER_SYMBOLIC_LINK", "target" -> target, "link" -> link)

  def targetNotEmpty(directory: String, entry: String): ZOrderException =
    error("ZORDER_TARGET_NOT_EMPTY", "directory" -> directory, "entry" -> entry)

  def tooManyColumns(count: Int, target: String): ZOrderException =
    error("ZORDER_TOO_MANY_COLUMNS", "count" -> count.toString, "target" -> target)

  def schemaNotReadable(file: String, problem: String): ZOrderException =
    error("ZORDER_SCHEMA_NOT_READABLE", "file" -> file, "problem" -> problem)

  def typeNotReadable(column: String, storedType: String, file: String): ZOrderException =
    error(
      "ZORDER_TYPE_NOT_READABLE",
      "column" -> quoted(column),
      "type" -> storedType,
      "file" -> file)

  def typeNotWritable(
      column: String,
      storedType: String,
      file: String,
      becomes: String): ZOrderException =
    error(
      "ZORDER_TYPE_NOT_WRITABLE",
      "column" -> quoted(column),
      "type" -> storedType,
      "file" -> file,
      "becomes" -> becomes)

  def undoRefused(target: String, run: String, problem: String): ZOrderException =
    error("ZORDER_UNDO_REFUSED", "target" -> target, "run" -> run, "problem" -> problem)

  def unknownSetting(key: String, known: Seq[String]): ZOrderException =
    error("ZORDER_UNKNOWN_SETTING", "key" -> key, "known" -> known.mkString(", "))

  def unsupportedTable(target: String, kind: String, advice: String): ZOrderException =
    error("ZORDER_UNSUPPORTED_TABLE", "target" -> target, "kind" -> kind, "advice" -> advice)

  def verificationFailed(target: String, problem: String): ZOrderException =
    error("ZORDER_VERIFICATION_FAILED", "target" -> target, "problem" -> problem)

  private def error(condition: String, parameters: (String, String)*): ZOrderException =
    new ZOrderException(condition, parameters.toMap)

  // some callers pass SQL text, which already has back quotes where they are needed
  private def quoted(name: String): String = if (name.startsWith("`")) name else s"`$name`"

  private def list(names: Seq[String]): String = names.map(quoted).mkString(", ")

  /** The first few names, and the number of the others. */
  private[sparkzorder] def some(names: Seq[String]): String = {
    val rest = names.size - ShownNames
    names.take(ShownNames).mkString(", ") + (if (rest > 0) s" and $rest more" else "")
  }

  private val ShownNames = 5

  /** The first line of the message that is not empty: messages of Spark's parser begin with an empty line. */
  private[sparkzorder] def firstLine(t: Throwable): String =
    Option(t.getMessage).flatMap(_.split('\n').map(_.trim).find(_.nonEmpty))
      .getOrElse(t.getClass.getSimpleName)
}
