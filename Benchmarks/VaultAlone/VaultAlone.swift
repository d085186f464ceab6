/// The vault without a store over it, for a benchmark: SQLite's tables in a sealed file, filled
/// and read by the same program that does so in every other file.
internal import Base
internal import Vault

/// The one file that is open.
private let held = Lock<Vault?>(nil)

/// Opens the file, or makes it, with 32 bytes of key; gives the writing connection of the library
/// of SQLite that this process has, or null. It is closed with `sqlite3_close`, then #vault_close.
@_cdecl("vault_open")
public func vaultOpen(
  _ path: UnsafePointer<CChar>, _ key: UnsafePointer<UInt8>
) -> OpaquePointer? {
  let bytes = unsafe HostKey(copying: UnsafeRawBufferPointer(start: key, count: 32))
  let config = unsafe VaultConfig(path: String(cString: path), key: bytes)
  do throws(VaultFailure) {
    let vault = try Vault.open(config)
    let writer = unsafe try vault.connect(.writer)
    held.withLock { $0 = vault }
    return unsafe writer
  } catch {
    return nil
  }
}

/// Ends what was opened.
@_cdecl("vault_close")
public func vaultClose() {
  held.withLock { vault in
    vault?.close()
    vault = nil
  }
}
