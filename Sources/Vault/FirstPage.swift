/// Page 1 of an empty database, as this format always has it.
///
/// A new file gets it at once, in log mode, so there is no time at which a file
/// has a header and no database, and no step through a rollback journal.
enum FirstPage {
  /// The first hundred bytes: SQLite's own header.
  static func header(flags: UInt32) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 100)
    bytes.replaceSubrange(0..<15, with: Array("SQLite format 3".utf8))
    bytes[16] = UInt8(FileFormat.pageBytes >> 8)
    // Written and read through the log.
    bytes[18] = 2
    bytes[19] = 2
    bytes[20] = UInt8(FileFormat.reserveBytes)
    // Three constants that SQLite demands.
    bytes[21] = 64
    bytes[22] = 32
    bytes[23] = 32
    // One page.
    bytes[31] = 1
    if flags & HeaderFlag.incrementalVacuum != 0 {
      bytes[55] = 1
      bytes[67] = 1
    }
    return bytes
  }

  /// Pages of the database as page 1 names them; 0 where SQLite would not believe it.
  static func count(_ first: UnsafePointer<UInt8>) -> Int64 {
    guard (24..<28).allSatisfy({ unsafe first[$0] == first[$0 &+ 68] }) else { return 0 }
    return (28..<32).reduce(0) { unsafe $0 &<< 8 | Int64(first[$1]) }
  }

  /// The whole page: the header and an empty table leaf, the schema.
  static func page(flags: UInt32) -> [UInt8] {
    var bytes = header(flags: flags)
    bytes += [UInt8](repeating: 0, count: FileFormat.pageBytes - bytes.count)
    bytes[100] = 13
    // Cells begin at the end of what is usable.
    bytes[105] = UInt8(FileFormat.pageTextBytes >> 8)
    bytes[106] = UInt8(FileFormat.pageTextBytes & 0xFF)
    return bytes
  }

  /// The page as a unit of the file.
  static func sealed(flags: UInt32, fileId: [UInt8], keys: KeyMemory) -> [UInt8] {
    let page = page(flags: flags)
    var unit = [UInt8](repeating: 0, count: FileFormat.pageBytes)
    var bound = [UInt8](repeating: 0, count: FileFormat.boundBytes)
    unsafe unit.withUnsafeMutableBufferPointer { unit in
      unsafe bound.withUnsafeMutableBufferPointer { bound in
        unsafe page.withUnsafeBufferPointer { page in
          guard let unit = unit.baseAddress, let bound = bound.baseAddress,
            let page = page.baseAddress
          else { return }
          unsafe UnitCipher.bind(bound, fileId: fileId)
          unsafe UnitCipher.bind(bound, .page, 1)
          unsafe UnitCipher.seal(
            page, FileFormat.pageTextBytes, into: unit, bound: bound, key: keys.page)
        }
      }
    }
    return unit
  }
}
