/// Borrowed bytes in both directions.
///
/// What is handed in is borrowed for the call, so a view never outlives the closure it is given to.
/// What comes out is valid until its batch is freed, so it is copied at once.
import CTidelineShared

extension tl_view {
  /// A copy of the bytes as a text.
  public var string: String { String(decoding: bytes, as: UTF8.self) }

  /// A copy of the bytes.
  public var bytes: [UInt8] { Array(UnsafeBufferPointer(start: data, count: size)) }
}

/// Lends texts to one call.
func withViews<Result>(
  _ texts: [String], _ body: ([tl_view]) throws -> Result
) rethrows -> Result {
  try withViews(texts.map { Array($0.utf8) }, body)
}

/// Lends bytes to one call.
func withViews<Result>(
  _ parts: [[UInt8]], _ body: ([tl_view]) throws -> Result
) rethrows -> Result {
  try parts.flatMap(\.self).withUnsafeBufferPointer { all in
    var views: [tl_view] = []
    var start = 0
    for part in parts {
      let data = part.isEmpty ? nil : all.baseAddress.map { $0 + start }
      views.append(tl_view(data: data, size: part.count))
      start += part.count
    }
    return try body(views)
  }
}

/// The size that a struct of the header begins with.
func size<Value>(_ type: Value.Type) -> UInt32 {
  UInt32(MemoryLayout<Value>.size)
}
