/// The header in front of the pages: who can open the file, and how it is laid out.
///
/// It is kept twice, each copy with a plain checksum (so that damage is told
/// from a wrong key) and a keyed one (so that nobody without the key can change
/// a flag). A write that tears one copy leaves the other.
internal import Base
internal import CSodium

/// One copy of the header, as bytes. `isSound` is asked before anything else.
struct FileHeader: Equatable {
  private(set) var bytes: [UInt8]

  static let slotCount = 8
  static let slotsOffset = 64
  static let macOffset = 4000
  static let macEnd = 4032
  static let sumOffset = 4064
  private static let sumBytes = 32

  /// `copy` has exactly `FileFormat.copyBytes` bytes.
  init?(_ copy: ArraySlice<UInt8>) {
    guard copy.count == FileFormat.copyBytes else { return nil }
    bytes = Array(copy)
  }

  /// The header of a new file, with one slot that `key` opens.
  init(newFor key: HostKey, fileId: [UInt8], keys: KeyMemory) throws(VaultFailure) {
    bytes = Array(repeating: 0, count: FileFormat.copyBytes)
    bytes.replaceSubrange(0..<8, with: FileFormat.magic)
    Words.put(FileFormat.version, at: 8, of: &bytes)
    Words.put(1, at: 12, of: &bytes)
    bytes.replaceSubrange(16..<32, with: fileId)
    Words.put(UInt32(FileFormat.pageBytes), at: 32, of: &bytes)
    Words.put(UInt32(FileFormat.reserveBytes), at: 36, of: &bytes)
    Words.put(FileFormat.cipher, at: 40, of: &bytes)
    Words.put(HeaderFlag.initialized | HeaderFlag.incrementalVacuum, at: 44, of: &bytes)
    bytes.replaceSubrange(
      Self.place(of: 0), with: try KeySlot(NewSlot(key), of: self, keys: keys).bytes)
    close(with: keys)
  }

  var hasMagic: Bool { bytes.starts(with: FileFormat.magic) }
  var version: UInt32 { Words.get(bytes, 8) }
  var sequence: UInt32 { Words.get(bytes, 12) }
  var fileId: [UInt8] { Array(bytes[16..<32]) }
  var flags: UInt32 { Words.get(bytes, 44) }

  /// True when the copy has our magic and no byte of it was changed by accident.
  /// Magic, version and this checksum keep their places in every version.
  var isSound: Bool {
    hasMagic && plainSum() == Array(bytes[Self.sumOffset...])
  }

  /// True when this version of the library can read what the header describes.
  var isKnown: Bool {
    version == FileFormat.version && Words.get(bytes, 32) == UInt32(FileFormat.pageBytes)
      && Words.get(bytes, 36) == UInt32(FileFormat.reserveBytes)
      && Words.get(bytes, 40) == FileFormat.cipher
  }

  /// True when the header is the one that was written with these keys.
  func isAuthentic(_ keys: KeyMemory) -> Bool {
    Array(bytes[Self.macOffset..<Self.macEnd]) == keyedSum(keys)
  }

  /// The same header with every key slot empty: no key opens it any more.
  func withoutSlots() -> FileHeader {
    var wiped = self
    let end = Self.slotsOffset + Self.slotCount * KeySlot.bytesCount
    for place in Self.slotsOffset..<end { wiped.bytes[place] = 0 }
    for place in Self.macOffset..<Self.sumOffset { wiped.bytes[place] = 0 }
    wiped.bytes.replaceSubrange(Self.sumOffset..., with: wiped.plainSum())
    return wiped
  }
}

// MARK: - Slots

extension FileHeader {
  private static func place(of slot: Int) -> Range<Int> {
    let start = slotsOffset + slot * KeySlot.bytesCount
    return start..<start + KeySlot.bytesCount
  }

  /// `number` is under `slotCount`.
  func slot(_ number: Int) -> KeySlot { KeySlot(Array(bytes[Self.place(of: number)])) }

  /// What the slots that are used say to anybody.
  var views: [SlotView] {
    var views: [SlotView] = []
    for number in 0..<Self.slotCount {
      let slot = slot(number)
      if !slot.isEmpty { views.append(slot.view(number)) }
    }
    return views
  }

  /// The keys of the file.
  func unlock(_ key: HostKey) throws(VaultFailure) -> KeyMemory {
    var failure = VaultFailure.noSlot
    for number in 0..<Self.slotCount {
      let slot = slot(number)
      guard slot.kind == key.kind.rawValue, slot.isUsable else { continue }
      if let keys = try slot.open(key, of: self) { return keys }
      failure = .wrongKey
    }
    throw failure
  }

  /// The header of a copy of the file, which the same keys open.
  func ofCopy(_ keys: KeyMemory) -> FileHeader {
    var copy = self
    Words.put(flags | HeaderFlag.copied, at: 44, of: &copy.bytes)
    copy.close(with: keys)
    return copy
  }

  /// The header that follows that of a copy once a client has opened it.
  func ofOriginal(_ keys: KeyMemory) throws(VaultFailure) -> FileHeader {
    guard sequence < .max else { throw .damaged }
    var next = self
    Words.put(sequence + 1, at: 12, of: &next.bytes)
    Words.put(flags & ~HeaderFlag.copied, at: 44, of: &next.bytes)
    next.close(with: keys)
    return next
  }

  /// The header that follows this one, with another slot in one place.
  func with(_ slot: KeySlot, at number: Int, keys: KeyMemory) throws(VaultFailure) -> FileHeader {
    // The sum is authentic: whoever gave it the last number there is had a key.
    guard sequence < .max else { throw .damaged }
    var next = self
    Words.put(sequence + 1, at: 12, of: &next.bytes)
    next.bytes.replaceSubrange(Self.place(of: number), with: slot.bytes)
    next.close(with: keys)
    return next
  }
}

// MARK: - Sums

extension FileHeader {
  private mutating func close(with keys: KeyMemory) {
    bytes.replaceSubrange(Self.macOffset..<Self.macEnd, with: keyedSum(keys))
    bytes.replaceSubrange(Self.sumOffset..., with: plainSum())
  }

  private func keyedSum(_ keys: KeyMemory) -> [UInt8] {
    var sum = [UInt8](repeating: 0, count: Self.sumBytes)
    unsafe crypto_generichash(
      &sum, sum.count, bytes, UInt64(Self.macOffset), keys.header, FileFormat.keyBytes)
    return sum
  }

  private func plainSum() -> [UInt8] {
    var sum = [UInt8](repeating: 0, count: Self.sumBytes)
    unsafe crypto_generichash(&sum, sum.count, bytes, UInt64(Self.sumOffset), nil, 0)
    return sum
  }
}
