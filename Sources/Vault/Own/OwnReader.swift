/// Reads a file of own work up to its first frame that does not open.
internal import Base
internal import CSQLite

/// What lies beside a file.
package enum OwnFound: Sendable {
  case nothing
  /// Nothing of it opens.
  case foreign
  /// It opens and is cut or changed, or is of the file that had the name before.
  case part
  /// All of it opens, and the next record goes behind it.
  case current
}

enum OwnReader {
  /// Gives each record to `take`, and where the next one goes. `key` opens what is of another
  /// file; without it that is foreign.
  static func read(
    beside core: VaultCore, _ path: String, _ key: HostKey?, _ take: ([UInt8]) -> Void
  ) throws(VaultFailure) -> (found: OwnFound, file: OwnFile) {
    let nothing = OwnFile()
    if case .file = core.hold {
      switch try FileStatus(path: path) {
      case .missing: return (.nothing, nothing)
      case .other: return (.foreign, nothing)
      case .file: break
      }
    }
    let file = try unsafe BaseFile(core.base, path, create: core.isNamed)
    var window = Window(file, size: try file.size())
    if window.size == 0 { return (.nothing, nothing) }
    guard let lead = try window.bytes(at: 0, Int(FileFormat.ownOffset)),
      let header = FileHeader(lead[0..<FileFormat.copyBytes])
    else { return (.foreign, nothing) }
    // Frames name the file that they are of, so one with a damaged header is read all the same.
    let isSame = !header.isSound || !header.isKnown || header.fileId == core.fileId
    guard let keys = isSame ? core.keys : header.keys(for: key) else { return (.foreign, nothing) }
    var chain = OwnChain(
      keys, fileId: isSame ? core.fileId : header.fileId,
      generation: Array(lead[FileFormat.copyBytes...]))
    while let text = try next(in: &window, &chain) { take(text) }
    if chain.end == FileFormat.ownOffset { return (.foreign, nothing) }
    guard isSame, chain.end == window.size, header.hasSlots(of: core.copies.current) else {
      return (.part, nothing)
    }
    return (.current, OwnFile(file: file, chain: chain))
  }

  private static func next(
    in window: inout Window, _ chain: inout OwnChain
  ) throws(VaultFailure) -> [UInt8]? {
    guard let lead = try window.bytes(at: chain.end, FileFormat.ownLeadBytes) else { return nil }
    let count = Int(Words.get(lead, 0))
    guard count <= FileFormat.ownTextBytesMax,
      let unit = try window.bytes(
        at: chain.end + Int64(lead.count), count + FileFormat.reserveBytes)
    else { return nil }
    return chain.open(unit)
  }

  /// A part of the file, so that frames are not read one by one.
  private struct Window {
    private static let bytesRead = 256 << 10

    let size: Int64
    private let file: BaseFile
    private var held: [UInt8] = []
    private var start: Int64 = 0

    init(_ file: BaseFile, size: Int64) {
      self.file = file
      self.size = size
    }

    /// Nil where the file ends before.
    mutating func bytes(at place: Int64, _ count: Int) throws(VaultFailure) -> [UInt8]? {
      guard Int64(count) <= size - place else { return nil }
      if place < start || place + Int64(count) > start + Int64(held.count) {
        held = try file.read(max(count, Self.bytesRead), at: place)
        start = place
      }
      let first = Int(place - start)
      guard count <= held.count - first else { return nil }
      return Array(held[first..<first + count])
    }
  }
}

extension FileHeader {
  /// The keys of the file, where it is the one that was written and a slot opens.
  fileprivate func keys(for key: HostKey?) -> KeyMemory? {
    guard let key, key.count > 0 else { return nil }
    do throws(VaultFailure) {
      let keys = try unlock(key)
      return isAuthentic(keys) ? keys : nil
    } catch {
      return nil
    }
  }

  /// Whether the same keys open both.
  fileprivate func hasSlots(of other: FileHeader?) -> Bool {
    let slots = Self.slotsOffset..<HeaderBox.range.upperBound
    return isSound && other.map { $0.bytes[slots] == bytes[slots] } ?? false
  }
}

extension VaultCore {
  /// It is a name on a storage of the host's.
  var isNamed: Bool { if case .name = hold { true } else { false } }
}
