/// When the server was last asked for all that is new, by the device's wall clock: a table of its
/// own, which is there only once a host has asked for an age.
internal import Base

package struct AskedTable {
  /// The list of conversations, and all of them together.
  package static let list: Int64 = 0
  package static let all: Int64 = -1

  private let connection: Connection

  package init(_ rx: ReadTransaction) throws(StoreFailure) {
    connection = try rx.connection
  }

  package var isOn: Bool { connection.hasTable("asked") }

  /// False where it was on.
  package func switchOn() throws(StoreFailure) -> Bool {
    if isOn { return false }
    try connection.execute(
      """
      CREATE TABLE asked (
        cid INTEGER NOT NULL PRIMARY KEY,
        us INTEGER NOT NULL
      ) STRICT;
      INSERT INTO asked (cid, us) VALUES (-2, 0);
      """)
    return true
  }

  /// When it was asked for; nil where that was not noted.
  package func us(_ cid: Int64) throws(StoreFailure) -> Int64? {
    guard isOn else { return nil }
    return try connection.number("SELECT us FROM asked WHERE cid = ?", cid)
  }

  package func note(_ us: Int64, of cid: Int64) throws(StoreFailure) {
    try connection.runNoted(
      "INSERT INTO asked (cid, us) VALUES (?, ?) ON CONFLICT (cid) DO UPDATE SET us = excluded.us",
      cid, us)
  }

  /// Nothing that was asked for is stored any more.
  static func empty(_ connection: Connection) throws(StoreFailure) {
    guard connection.hasTable("asked") else { return }
    try connection.execute("DELETE FROM asked")
  }
}
