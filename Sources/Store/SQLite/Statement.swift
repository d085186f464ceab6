/// A prepared statement in use: steps, and gives columns out.
///
/// It goes back to its connection when it ends, reset and with its parameters
/// cleared, so that a cached statement never holds a message or an open read.
internal import CSQLite
internal import Glibc
internal import Support
internal import Timeline

@safe struct Statement: ~Copyable {
  private let prepared: OpaquePointer
  private let place: Int
  private let connection: Connection

  init(_ prepared: OpaquePointer, place: Int, of connection: Connection) {
    unsafe self.prepared = prepared
    self.place = place
    self.connection = connection
  }

  deinit {
    unsafe connection.takeBack(prepared, place: place)
  }

  var isReadOnly: Bool { unsafe sqlite3_stmt_readonly(prepared) != 0 }

  /// Moves to the next row: false at the end.
  borrowing func step() throws(StoreFailure) -> Bool {
    let code = unsafe sqlite3_step(prepared)
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw StoreFailure(sqlite: code)
    }
  }

  /// Takes all steps that are left.
  @inline(never)
  borrowing func finish() throws(StoreFailure) {
    while try step() {}
  }

  // MARK: Columns

  borrowing func isNull(_ column: Int32) -> Bool {
    unsafe sqlite3_column_type(prepared, column) == SQLITE_NULL
  }

  borrowing func int(_ column: Int32) -> Int64 {
    unsafe sqlite3_column_int64(prepared, column)
  }

  borrowing func optionalInt(_ column: Int32) -> Int64? {
    isNull(column) ? nil : int(column)
  }

  borrowing func place(_ column: Int32) -> Place { Place(int(column)) }

  /// A number that is never negative, as far as the file is honest.
  borrowing func uint(_ column: Int32) -> UInt64 {
    UInt64(clamping: int(column))
  }

  borrowing func bytes(_ column: Int32) -> [UInt8] {
    unsafe [UInt8](blob(column))
  }

  borrowing func optionalBytes(_ column: Int32) -> [UInt8]? {
    isNull(column) ? nil : bytes(column)
  }

  /// Size of a column in bytes, without its content being taken.
  borrowing func size(_ column: Int32) -> Int {
    Int(unsafe sqlite3_column_bytes(prepared, column))
  }

  /// The bytes of a column where SQLite has them, until the next step; no address where it is
  /// empty, as most columns of most rows are.
  borrowing func blob(_ column: Int32) -> UnsafeRawBufferPointer {
    // One look for the column, whose address and size are asked for then.
    let value = unsafe sqlite3_column_value(prepared, column)
    guard let start = unsafe sqlite3_value_blob(value) else {
      return unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return unsafe UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
  }

  /// Whether a column holds exactly these bytes.
  borrowing func isEqual(_ column: Int32, to bytes: [UInt8]) -> Bool {
    let blob = unsafe blob(column)
    guard let start = blob.baseAddress, blob.count == bytes.count else {
      return blob.count == bytes.count
    }
    return unsafe memcmp(start, bytes, bytes.count) == 0
  }

  // MARK: Parameters

  /// The parameters in turn, for a statement that has many.
  borrowing func parameters() -> Parameters { unsafe Parameters(prepared, room: connection.room) }

  fileprivate borrowing func bind(int value: Int64, at index: Int32) throws(StoreFailure) {
    try check(unsafe sqlite3_bind_int64(prepared, index, value))
  }

  fileprivate borrowing func bindNull(at index: Int32) throws(StoreFailure) {
    try check(unsafe sqlite3_bind_null(prepared, index))
  }

  fileprivate borrowing func bind(bytes: [UInt8], at index: Int32) throws(StoreFailure) {
    try check(unsafe Self.bind(bytes, to: prepared, at: index))
  }

  fileprivate static func bind(
    _ bytes: [UInt8], to prepared: OpaquePointer, at index: Int32
  ) -> Int32 {
    unsafe bytes.withUnsafeBytes { raw in
      // Without a pointer SQLite would bind NULL, which is something else.
      guard let start = raw.baseAddress, unsafe !raw.isEmpty else {
        return unsafe sqlite3_bind_zeroblob(prepared, index, 0)
      }
      // Copied, because the array may move before the statement steps.
      return unsafe sqlite3_bind_blob64(
        prepared, index, start, UInt64(raw.count), tideline_transient())
    }
  }

  private borrowing func check(_ code: Int32) throws(StoreFailure) {
    guard code == SQLITE_OK else { throw StoreFailure(sqlite: code) }
  }
}

/// The parameters of a statement that has many, bound one after the other: generic ones cost
/// more than the statement there. What is nil is passed over, for it is NULL already. It is to be
/// used while the statement is, and that is to run before another one gets its parameters so.
@safe struct Parameters: ~Copyable {
  private let prepared: OpaquePointer
  private let room: Room
  private var used = 0
  private var index: Int32 = 0
  private var code = SQLITE_OK

  fileprivate init(_ prepared: OpaquePointer, room: Room) {
    unsafe self.prepared = prepared
    self.room = room
  }

  /// Where bytes lie while their statement runs, in place of a copy of SQLite's own for each.
  @safe final class Room {
    fileprivate let bytes = UnsafeMutableRawBufferPointer.allocate(
      byteCount: 16_384, alignment: 16)

    deinit {
      unsafe bytes.deallocate()
    }
  }

  mutating func bind(_ value: Int64?) {
    index += 1
    guard let value, code == SQLITE_OK else { return }
    code = unsafe sqlite3_bind_int64(prepared, index, value)
  }

  mutating func bind(_ value: UInt64?) {
    bind(value.map { Int64(clamping: $0) })
  }

  mutating func bind(_ value: [UInt8]?) {
    index += 1
    guard let value, code == SQLITE_OK else { return }
    guard !value.isEmpty, unsafe value.count <= room.bytes.count - used else {
      code = unsafe Statement.bind(value, to: prepared, at: index)
      return
    }
    let place = unsafe UnsafeMutableRawBufferPointer(rebasing: room.bytes[used...])
    unsafe place.copyBytes(from: value)
    used += value.count
    code = unsafe sqlite3_bind_blob64(
      prepared, index, place.baseAddress, UInt64(value.count), nil)
  }

  /// Throws where one of them could not be bound.
  consuming func end() throws(StoreFailure) {
    guard code == SQLITE_OK else { throw StoreFailure(sqlite: code) }
  }
}

/// A value that a statement takes as a parameter.
protocol Bindable {
  func bind(to statement: borrowing Statement, at index: Int32) throws(StoreFailure)
}

extension Int64: Bindable {
  func bind(to statement: borrowing Statement, at index: Int32) throws(StoreFailure) {
    try statement.bind(int: self, at: index)
  }
}

extension Place: Bindable {
  func bind(to statement: borrowing Statement, at index: Int32) throws(StoreFailure) {
    try statement.bind(int: value, at: index)
  }
}

extension UInt64: Bindable {
  func bind(to statement: borrowing Statement, at index: Int32) throws(StoreFailure) {
    try statement.bind(int: Int64(clamping: self), at: index)
  }
}

extension Int: Bindable {
  func bind(to statement: borrowing Statement, at index: Int32) throws(StoreFailure) {
    try statement.bind(int: Int64(self), at: index)
  }
}

extension [UInt8]: Bindable {
  func bind(to statement: borrowing Statement, at index: Int32) throws(StoreFailure) {
    try statement.bind(bytes: self, at: index)
  }
}

extension Optional: Bindable where Wrapped: Bindable {
  func bind(to statement: borrowing Statement, at index: Int32) throws(StoreFailure) {
    if let value = self {
      try value.bind(to: statement, at: index)
    } else {
      try statement.bindNull(at: index)
    }
  }
}
