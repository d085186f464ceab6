/// One encrypted file, open and locked.
package final class Vault: Sendable {
  package static func open(_ config: VaultConfig) throws(VaultFailure) -> Vault {
    throw .io(0)
  }

  /// A `sqlite3 *` of the file; the caller closes it with `sqlite3_close`.
  package func connect(_ role: ConnectionRole) throws(VaultFailure) -> OpaquePointer {
    throw .io(0)
  }

  package func syncLog() throws(VaultFailure) {}
  package var rejectedFrames: UInt32 { 0 }
  package var fileBytes: UInt64 { 0 }
  package func close() {}
  package func destroy() throws(VaultFailure) {}
  package static func failure(fromSQLite code: Int32) -> VaultFailure? { nil }
}
