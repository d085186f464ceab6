/// The locks on a name's main file and the index of its log, for the connections of one vault.
///
/// They are SQLite's: a file is read by many, one of whom may be about to write. No other
/// process sees them: it would have to acquire the name, and that ends this holder.
internal import CSQLite
internal import Support

// Reached under the session's lock only; the regions are plain memory that SQLite guards itself.
@safe struct StorageLocks: @unchecked Sendable {
  /// Slots of the index's locks.
  private static let slots = Int(SQLITE_SHM_NLOCK)
  /// Regions of the index that a log of a terabyte would need; SQLite asks in order.
  private static let regionsMax: Int32 = 1 << 16

  private var readers = 0
  /// Who holds more than a shared lock.
  private var owner: StoredFile?
  private var sharing = [Int](repeating: 0, count: slots)
  private var taken: UInt32 = 0
  private var users = 0
  private var regions: [UnsafeMutableRawPointer] = unsafe []

  // MARK: The main file

  mutating func lock(_ file: StoredFile, _ level: Int32) -> Int32 {
    if unsafe file.pointee.level >= level { return SQLITE_OK }
    if unsafe owner != nil && owner != file {
      // Readers come in beside one who is about to write, not beside one who waits for them.
      guard level == SQLITE_LOCK_SHARED, ownerLevel < SQLITE_LOCK_PENDING else {
        return SQLITE_BUSY
      }
    }
    if unsafe file.pointee.level == SQLITE_LOCK_NONE {
      readers += 1
      unsafe file.pointee.level = SQLITE_LOCK_SHARED
    }
    if level == SQLITE_LOCK_SHARED { return SQLITE_OK }
    unsafe owner = file
    let isAlone = level != SQLITE_LOCK_EXCLUSIVE || readers == 1
    unsafe file.pointee.level = isAlone ? level : SQLITE_LOCK_PENDING
    return isAlone ? SQLITE_OK : SQLITE_BUSY
  }

  mutating func unlock(_ file: StoredFile, _ level: Int32) {
    guard unsafe file.pointee.level > level else { return }
    if unsafe owner == file { unsafe owner = nil }
    if level == SQLITE_LOCK_NONE { readers -= 1 }
    unsafe file.pointee.level = level
  }

  var isReserved: Bool { unsafe owner != nil }

  private var ownerLevel: Int32 { unsafe owner?.pointee.level ?? SQLITE_LOCK_NONE }

  // MARK: The index of the log

  /// The memory of a region, made where `extend` says so; nil where there is none.
  mutating func region(
    _ file: StoredFile, _ number: Int32, _ size: Int32, extend: Bool
  ) -> (result: Int32, memory: UnsafeMutableRawPointer?) {
    guard number >= 0, number < Self.regionsMax, size > 0 else { return (SQLITE_IOERR, nil) }
    if unsafe file.pointee.mapped == 0 {
      unsafe file.pointee.mapped = 1
      users += 1
    }
    if unsafe Int(number) >= regions.count && !extend { return (SQLITE_OK, nil) }
    while unsafe regions.count <= Int(number) {
      guard let made = unsafe sqlite3_malloc(size) else { return (SQLITE_NOMEM, nil) }
      unsafe made.initializeMemory(as: UInt8.self, repeating: 0, count: Int(size))
      unsafe regions.append(made)
    }
    return unsafe (SQLITE_OK, regions[Int(number)])
  }

  /// The last one to go takes the index with him.
  mutating func unmap(_ file: StoredFile) {
    guard unsafe file.pointee.mapped != 0 else { return }
    unsafe unlockSlots(file, .max)
    unsafe file.pointee.mapped = 0
    users -= 1
    guard users == 0 else { return }
    while let region = unsafe regions.popLast() { unsafe sqlite3_free(region) }
  }

  mutating func lockSlots(
    _ file: StoredFile, _ first: Int32, _ count: Int32, _ flags: Int32
  ) -> Int32 {
    guard first >= 0, count > 0, Int(first) + Int(count) <= Self.slots else { return SQLITE_IOERR }
    let wanted = ((UInt32(1) << UInt32(count)) - 1) << UInt32(first)
    if flags & SQLITE_SHM_UNLOCK != 0 {
      unsafe unlockSlots(file, wanted)
      return SQLITE_OK
    }
    let isShared = flags & SQLITE_SHM_SHARED != 0
    let held = unsafe isShared ? file.pointee.shared | file.pointee.alone : file.pointee.alone
    let missing = wanted & ~held
    if taken & missing != 0 { return SQLITE_BUSY }
    for slot in 0..<Self.slots where missing & 1 << UInt32(slot) != 0 {
      let own = unsafe file.pointee.shared & 1 << UInt32(slot) != 0 ? 1 : 0
      if !isShared && sharing[slot] > own { return SQLITE_BUSY }
    }
    for slot in 0..<Self.slots where isShared && missing & 1 << UInt32(slot) != 0 {
      sharing[slot] += 1
    }
    if isShared {
      unsafe file.pointee.shared |= missing
    } else {
      taken |= missing
      unsafe file.pointee.alone |= missing
    }
    return SQLITE_OK
  }

  private mutating func unlockSlots(_ file: StoredFile, _ slots: UInt32) {
    let (shared, alone) = unsafe (file.pointee.shared & slots, file.pointee.alone & slots)
    for slot in 0..<Self.slots where shared & 1 << UInt32(slot) != 0 { sharing[slot] -= 1 }
    taken &= ~alone
    unsafe file.pointee.shared &= ~shared
    unsafe file.pointee.alone &= ~alone
  }
}
