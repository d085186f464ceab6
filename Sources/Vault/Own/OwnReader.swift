/// Reads a file of own work up to its first frame that does not open.
internal import Base
internal import CSQLite

/// What lies beside a file.
package enum OwnFound: Sendable {
  case nothing
  /// Nothing of it opens, or it is of another file.
  case foreign
  /// It is of this file, and is cut or changed.
  case part
  /// It is of another data key, or of key slots that the file does not have any more: a key that
  /// was removed may open it.
  case former
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
    guard let file = try OwnFile.existing(core, path) else { return (.nothing, nothing) }
    var window = Window(file, size: try file.size())
    if window.size == 0 { return (.nothing, nothing) }
    guard let lead = try window.bytes(at: 0, Int(FileFormat.ownOffset)),
      let header = FileHeader(lead[0..<FileFormat.copyBytes])
    else { return (.foreign, nothing) }
    // Frames name the file that they are of, so one with a damaged header is read all the same.
    let isSound = header.isSound && header.isKnown
    let isSame = !isSound || header.fileId == core.fileId
    let isFormer = isSound && header.isFormer(of: core.copies.current)
    guard let keys = isSame ? core.keys : header.keys(for: key) else {
      return (isFormer ? .former : .foreign, nothing)
    }
    var chain = OwnChain(
      keys, fileId: isSame ? core.fileId : header.fileId,
      generation: Array(lead[FileFormat.copyBytes...]))
    while let text = try next(in: &window, &chain) { take(text) }
    if isFormer { return (.former, nothing) }
    if !isSame { return (.foreign, nothing) }
    if chain.end == FileFormat.ownOffset { return (isSound ? .part : .foreign, nothing) }
    guard isSound, chain.end == window.size else { return (.part, nothing) }
    // An earlier process may have left records that a power cut takes.
    return (.current, OwnFile(file: file, chain: chain, isUnsynced: true))
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

  /// Whether it was that of a file before a rotation, or before a change of the key slots.
  fileprivate func isFormer(of current: FileHeader?) -> Bool {
    guard let current else { return false }
    if fileId != current.fileId { return fileId == current.other }
    let slots = Self.slotsOffset..<HeaderBox.range.upperBound
    return current.bytes[slots] != bytes[slots]
  }
}

extension VaultCore {
  /// It is a name on a storage of the host's.
  var isNamed: Bool { if case .name = hold { true } else { false } }
}
