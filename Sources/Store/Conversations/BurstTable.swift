/// When the end of a burst was first read, by the device's wall clock: a table of its own, which is
/// there only once more messages than a page stood within the overlap.
internal import Base

package struct BurstTable {
  private let connection: Connection

  package init(_ rx: ReadTransaction) throws(StoreFailure) {
    connection = try rx.connection
  }

  /// When the newest message of the burst was first read; nil where another one is known, or none.
  package func us(_ cid: Int64, topUs: Int64) throws(StoreFailure) -> Int64? {
    guard connection.hasTable("burst") else { return nil }
    return try connection.number("SELECT us FROM burst WHERE cid = ? AND top = ?", cid, topUs)
  }

  package func note(_ us: Int64, of cid: Int64, topUs: Int64) throws(StoreFailure) {
    if !connection.hasTable("burst") {
      try connection.execute(
        """
        CREATE TABLE burst (
          cid INTEGER NOT NULL PRIMARY KEY,
          top INTEGER NOT NULL,
          us INTEGER NOT NULL
        ) STRICT
        """)
    }
    try connection.runNoted(
      "INSERT OR REPLACE INTO burst (cid, top, us) VALUES (?, ?, ?)", cid, topUs, us)
  }

  /// Nothing that was read is stored any more.
  static func empty(_ connection: Connection) throws(StoreFailure) {
    guard connection.hasTable("burst") else { return }
    try connection.execute("DELETE FROM burst")
  }
}
