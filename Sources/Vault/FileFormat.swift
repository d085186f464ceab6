/// The numbers of file format 1, and the codes of SQLite that Swift cannot import.
///
/// docs/reference/file-format.md describes the same bytes for readers written elsewhere;
/// both change together, and only with the version.
internal import CSQLite

enum FileFormat {
  /// First bytes of both header copies.
  static let magic: [UInt8] = Array("TIDELINE".utf8)
  static let version: UInt32 = 1
  /// XChaCha20-Poly1305, the one cipher of version 1.
  static let cipher: UInt32 = 1

  static let pageBytes = 4096
  /// Bytes at a page's end that SQLite leaves alone: room for nonce and tag.
  static let reserveBytes = 40
  static let nonceBytes = 24
  static let tagBytes = 16
  /// Bytes of a page that carry data.
  static let pageTextBytes = 4056

  /// Bytes of one header copy.
  static let copyBytes = 4096
  /// Where page 1 begins: behind two header copies.
  static let pagesOffset = 8192
  static let fileIdBytes = 16
  static let keyBytes = 32

  static let logHeaderBytes = 32
  static let logHeaderUnitBytes = 72
  static let frameHeaderBytes = 24
  /// Bytes of one frame as SQLite sees it: header and page.
  static let frameBytes = 4120
  /// What lies before them in the log: the tag of the header, and the frame's number,
  /// which is sealed with the header.
  static let frameLeadBytes = 24
  static let frameNumberBytes = 8
  static let framePageOffset = 48
  /// Bytes of one frame in the log.
  static let frameUnitBytes = 4144

  /// Frames that are sealed and written in one step, and their bytes. How they are
  /// gathered shows nowhere in the file.
  static let batchFrames: Int64 = 16
  static let batchBytes = Int(batchFrames) * frameUnitBytes

  /// Bytes of the associated data of a unit.
  static let boundBytes = 40

  /// Bytes of the number that a file of own work has of each time it was made anew.
  static let generationBytes = 16
  /// Where its frames begin, and bytes of the associated data of one.
  static let ownOffset = Int64(copyBytes + generationBytes)
  static let ownBoundBytes = 60
  /// Bytes of the length in front of a frame, and the greatest such length.
  static let ownLeadBytes = 4
  static let ownTextBytesMax = 64 << 20
}

/// What a unit is; part of its associated data, so units cannot change places.
enum UnitKind: UInt32 {
  /// `P`: a page, in the main file or in a frame of the log.
  case page = 0x50
  /// `H`: the header of the log.
  case logHeader = 0x48
  /// `M`: a mark of the log, in a copy of the header.
  case mark = 0x4D
  /// `O`: a frame of own work.
  case own = 0x4F
}

/// Bits of the header's `flags`.
enum HeaderFlag {
  /// Page 1 was written: a file without it has been cut.
  static let initialized: UInt32 = 1
  /// Each copy of the header has had a mark of the log since the file was made.
  static let marked: UInt32 = 2
  /// The pages carry back pointers, so that the file can shrink bit by bit.
  static let incrementalVacuum: UInt32 = 4
  /// The file is a copy that no client has opened yet.
  static let copied: UInt32 = 8
}

/// Extended result codes: macros too deep for the importer.
enum Code {
  static let readFailed = SQLITE_IOERR | (1 << 8)
  static let shortRead = SQLITE_IOERR | (2 << 8)
  static let writeFailed = SQLITE_IOERR | (3 << 8)
  static let syncFailed = SQLITE_IOERR | (4 << 8)
  static let truncateFailed = SQLITE_IOERR | (6 << 8)
  /// What SQLite's own VFS makes of `EIO`; SQLite takes it for a damaged file.
  static let unreadable = SQLITE_IOERR | (33 << 8)
  static let lockFailed = SQLITE_IOERR | (15 << 8)
  static let badData = SQLITE_IOERR | (32 << 8)
  static let deleteFailed = SQLITE_IOERR | (10 << 8)
  /// The lease on a storage of the host's is lost: a code that SQLite itself has given up.
  static let lost = SQLITE_IOERR | (11 << 8)
}
