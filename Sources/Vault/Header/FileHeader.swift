/// The header in front of the pages: who can open the file, and how it is laid out.
///
/// It is kept twice, each copy with a plain checksum (so that damage is told
/// from a wrong key) and a keyed one (so that nobody without the key can change
/// a flag). A write that tears one copy leaves the other. Where each copy has its
/// mark of the log, both sums count zeros.
internal import Base
internal import CSodium

/// One copy of the header, as bytes. `isSound` is asked before anything else.
struct FileHeader: Equatable {
  private(set) var bytes: [UInt8]

  static let slotCount = 8
  static let slotsOffset = 64
  static let otherRange = 48..<64
  static let macOffset = 4000
  static let macEnd = 4032
  static let sumOffset = 4064
  private static let sumBytes = 32

  /// `copy` has exactly `FileFormat.copyBytes` bytes.
  init?(_ copy: ArraySlice<UInt8>) {
    guard copy.count == FileFormat.copyBytes else { return nil }
    bytes = Array(copy)
    for place in LogMark.range { bytes[place] = 0 }
  }

  /// Both copies on disk of a file that has no log. A backup may get the place of a file of the
  /// same keys: no log that was left there is of its generation.
  func copies(_ keys: KeyMemory) -> [(place: Int64, bytes: [UInt8])] {
    var random: UInt64 = 0
    if flags & HeaderFlag.copied != 0 { unsafe randombytes_buf(&random, 6) }
    return HeaderFile.places.enumerated().map { index, place in
      var copy = bytes
      var mark = LogMark.initial
      // An even one and the one before, each in its copy.
      if random > 1 { mark.generation = random & ~1 - UInt64(index) }
      copy.replaceSubrange(
        LogMark.range, with: mark.sealed(in: index, fileId: fileId, keys: keys))
      return (place, copy)
    }
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
    let flags = HeaderFlag.initialized | HeaderFlag.marked | HeaderFlag.incrementalVacuum
    Words.put(flags, at: 44, of: &bytes)
    let box = try HeaderBox()
    unsafe box.set(content: keys.content)
    try put(try KeySlot.prepared(NewSlot(key)), at: 0, keys, box)
    try close(with: keys, box)
  }

  var hasMagic: Bool { bytes.starts(with: FileFormat.magic) }
  var version: UInt32 { Words.get(bytes, 8) }
  var sequence: UInt32 { Words.get(bytes, 12) }
  var fileId: [UInt8] { Array(bytes[16..<32]) }
  var flags: UInt32 { Words.get(bytes, 44) }
  /// The file that this one is to be replaced by, or has replaced; zeros for none.
  var other: [UInt8] { Array(bytes[Self.otherRange]) }

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

  /// True when the header is the one that was written with these keys. What lies behind the keyed
  /// sum is covered by no key, so it has to be zero.
  func isAuthentic(_ keys: KeyMemory) -> Bool {
    Array(bytes[Self.macOffset..<Self.macEnd]) == keyedSum(keys)
      && bytes[Self.macEnd..<Self.sumOffset].allSatisfy { $0 == 0 }
  }

  /// True when a wipe wrote it: nothing is left by which a key would open the file.
  var isWiped: Bool { bytes[Self.slotsOffset..<Self.sumOffset].allSatisfy { $0 == 0 } }

  /// True when `other` is taken before this one. A wipe that overwrote one copy has not ended.
  func yields(to other: FileHeader) -> Bool {
    isWiped == other.isWiped ? sequence < other.sequence : isWiped
  }

  /// The same header with every key slot empty: no key opens it any more.
  func withoutSlots() -> FileHeader {
    var wiped = self
    for place in Self.slotsOffset..<Self.sumOffset { wiped.bytes[place] = 0 }
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
      if let keys = try slot.open(key, once: once(number), of: self) { return keys }
      failure = .wrongKey
    }
    throw failure
  }

  /// What `KeySlot.wrap` gave for a slot.
  private func once(_ number: Int) -> [UInt8] { Array(bytes[HeaderBox.place(ofOnce: number)]) }

  /// Puts a slot that wraps `keys` in one place, or empties it.
  private mutating func put(
    _ new: PreparedSlot?, at number: Int, _ keys: KeyMemory, _ box: HeaderBox
  ) throws(VaultFailure) {
    var slot = new?.slot ?? .empty
    var once = [UInt8](repeating: 0, count: FileFormat.keyBytes)
    if let new { once = try slot.wrap(keys, for: new, of: self) }
    box.set(part: new?.part ?? once, of: number)
    bytes.replaceSubrange(Self.place(of: number), with: slot.bytes)
    bytes.replaceSubrange(HeaderBox.place(ofOnce: number), with: once)
  }
}

// MARK: - Headers that follow

extension FileHeader {
  /// The header of a copy of the file, which the same keys open.
  func ofCopy(_ keys: KeyMemory) -> FileHeader {
    var copy = self
    Words.put(flags | HeaderFlag.marked | HeaderFlag.copied, at: 44, of: &copy.bytes)
    copy.setOther([UInt8](repeating: 0, count: FileFormat.fileIdBytes))
    copy.close(with: keys)
    return copy
  }

  /// The header that follows that of a copy once a client has opened it.
  func ofOriginal(_ keys: KeyMemory) throws(VaultFailure) -> FileHeader {
    var next = try following()
    Words.put(flags & ~HeaderFlag.copied, at: 44, of: &next.bytes)
    next.close(with: keys)
    return next
  }

  /// The header that follows this one, with another slot in one place; nil empties it.
  func with(
    _ slot: PreparedSlot?, at number: Int, keys: KeyMemory
  ) throws(VaultFailure) -> FileHeader {
    var next = try following()
    let box = try HeaderBox(of: self, keys)
    try next.put(slot, at: number, keys, box)
    try next.close(with: keys, box)
    return next
  }

  /// The header that follows this one in a file that is to be replaced by the file `other`.
  func replaced(by other: [UInt8], _ keys: KeyMemory) throws(VaultFailure) -> FileHeader {
    var next = try following()
    next.setOther(other)
    next.close(with: keys)
    return next
  }

  /// The header of the file `id` that takes the place of this one: the next number, the same slots
  /// and the same content key, and another data key. `oldSlot` where a slot has no public part.
  func rotated(
    to id: [UInt8], from keys: KeyMemory, to new: KeyMemory
  ) throws(VaultFailure) -> FileHeader {
    var next = try following()
    next.bytes.replaceSubrange(16..<32, with: id)
    next.setOther(fileId)
    // No copy any more: its log begins with the first generation, as the core that goes on knows.
    Words.put(flags & ~HeaderFlag.copied | HeaderFlag.marked, at: 44, of: &next.bytes)
    let box = try HeaderBox(of: self, keys)
    for number in 0..<Self.slotCount where !slot(number).isEmpty {
      let part = box.part(number)
      guard part.contains(where: { $0 != 0 }) else { throw .oldSlot }
      try next.put(PreparedSlot(slot: slot(number), part: part), at: number, new, box)
    }
    try next.close(with: new, box)
    return next
  }

  /// Whether each slot can be wrapped anew.
  func isRotatable(_ keys: KeyMemory) throws(VaultFailure) -> Bool {
    let box = try HeaderBox(of: self, keys)
    return (0..<Self.slotCount).allSatisfy { number in
      slot(number).isEmpty || box.part(number).contains { $0 != 0 }
    }
  }

  /// A copy to be changed, of the next number.
  private func following() throws(VaultFailure) -> FileHeader {
    // The sum is authentic: whoever gave it the last number there is had a key.
    guard sequence < .max else { throw .damaged }
    var next = self
    Words.put(sequence + 1, at: 12, of: &next.bytes)
    return next
  }

  private mutating func setOther(_ id: [UInt8]) { bytes.replaceSubrange(Self.otherRange, with: id) }
}

// MARK: - Sums

extension FileHeader {
  private mutating func close(with keys: KeyMemory, _ box: HeaderBox) throws(VaultFailure) {
    bytes.replaceSubrange(HeaderBox.range, with: try box.sealed(for: self, keys))
    close(with: keys)
  }

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
