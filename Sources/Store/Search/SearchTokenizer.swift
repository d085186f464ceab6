/// Gives SQLite's full-text search (FTS5) the tokenizer of Text.
///
/// Rule protected: a text is cut by the one tokenizer, and what stands in a query is a token as it
/// is, so that no byte of it is cut again.

internal import CSQLite
internal import Text

/// The tokenizer of one full-text table. Its arguments are the lengths of words' beginnings that
/// become tokens: `tokenize = 'tideline 2 3 4'`.
@safe final class SearchTokenizer {
  static let name: StaticString = "tideline"
  /// Tokens that are held at a time.
  private static let part = 512

  private var tokenizer: Tokenizer

  private init(_ lengths: [Int]) {
    tokenizer = Tokenizer(.text(PrefixLengths(lengths)))
  }

  /// Makes the tokenizer known to a connection; a result of SQLite.
  static func register(_ connection: OpaquePointer) -> Int32 {
    var found: UnsafeMutablePointer<fts5_api>?
    let code = unsafe api(connection, &found)
    guard code == SQLITE_OK else { return code }
    guard let api = unsafe found, let create = unsafe api.pointee.xCreateTokenizer else {
      return SQLITE_ERROR
    }
    var methods = unsafe fts5_tokenizer(xCreate: make, xDelete: free, xTokenize: tokenize)
    return unsafe name.utf8Start.withMemoryRebound(
      to: CChar.self, capacity: name.utf8CodeUnitCount
    ) { unsafe create(api, $0, nil, &methods, nil) }
  }

  /// The functions of the full-text search, which it gives through a statement.
  private static func api(
    _ connection: OpaquePointer, _ api: inout UnsafeMutablePointer<fts5_api>?
  ) -> Int32 {
    var statement: OpaquePointer?
    let code = unsafe sqlite3_prepare_v2(connection, "SELECT fts5(?1)", -1, &statement, nil)
    guard code == SQLITE_OK else { return code }
    let kind: StaticString = "fts5_api_ptr"
    unsafe withUnsafeMutablePointer(to: &api) { place in
      unsafe kind.utf8Start.withMemoryRebound(
        to: CChar.self, capacity: kind.utf8CodeUnitCount
      ) {
        _ = unsafe sqlite3_bind_pointer(statement, 1, UnsafeMutableRawPointer(place), $0, nil)
      }
      _ = unsafe sqlite3_step(statement)
    }
    return unsafe sqlite3_finalize(statement)
  }

  /// Calls with each token of a text; ends with the first result that is none of success.
  private func tokens(
    _ text: UnsafeBufferPointer<UInt8>, _ context: UnsafeMutableRawPointer?,
    _ taken: TokenTaken
  ) -> Int32 {
    let text = unsafe text.span
    tokenizer.reset()
    while tokenizer.next(text, atLeast: Self.part) {
      let list = tokenizer.list
      let code = unsafe list.bytes.withUnsafeBytes { bytes in
        for entry in list.entries {
          let token = unsafe UnsafeRawBufferPointer(rebasing: bytes[entry.place])
          let code = unsafe taken(
            context, entry.isColocated ? FTS5_TOKEN_COLOCATED : 0,
            token.baseAddress?.assumingMemoryBound(to: CChar.self),
            Int32(truncatingIfNeeded: token.count),
            Int32(truncatingIfNeeded: entry.source.lowerBound),
            Int32(truncatingIfNeeded: entry.source.upperBound))
          if code != SQLITE_OK { return code }
        }
        return SQLITE_OK
      }
      if code != SQLITE_OK { return code }
    }
    return SQLITE_OK
  }

  // MARK: - What FTS5 calls

  private typealias TokenTaken =
    @convention(c) (
      UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, Int32, Int32, Int32
    ) -> Int32

  private static let make:
    @convention(c) (
      UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafePointer<CChar>?>?, Int32,
      UnsafeMutablePointer<OpaquePointer?>?
    ) -> Int32 = { _, arguments, count, made in
      guard let made = unsafe made else { return SQLITE_MISUSE }
      var lengths: [Int] = []
      for place in 0..<Int(clamping: count) {
        guard let argument = unsafe arguments?[place],
          let length = unsafe Int(String(cString: argument)), length > 0,
          length <= PrefixLengths.max
        else { return SQLITE_ERROR }
        lengths.append(length)
      }
      unsafe made.pointee = OpaquePointer(
        Unmanaged.passRetained(SearchTokenizer(lengths)).toOpaque())
      return SQLITE_OK
    }

  private static let free: @convention(c) (OpaquePointer?) -> Void = { made in
    guard let made = unsafe made else { return }
    unsafe Unmanaged<SearchTokenizer>.fromOpaque(UnsafeRawPointer(made)).release()
  }

  private static let tokenize:
    @convention(c) (
      OpaquePointer?, UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, Int32, TokenTaken?
    ) -> Int32 = { made, context, flags, text, count, taken in
      guard let made = unsafe made, let taken = unsafe taken else { return SQLITE_MISUSE }
      guard count > 0, let text = unsafe text else { return SQLITE_OK }
      // A query is made of tokens: each of its quoted texts is one.
      if flags & FTS5_TOKENIZE_QUERY != 0 { return unsafe taken(context, 0, text, count, 0, count) }
      let bytes = unsafe UnsafeRawBufferPointer(start: text, count: Int(clamping: count))
      let tokenizer = unsafe Unmanaged<SearchTokenizer>.fromOpaque(UnsafeRawPointer(made))
        .takeUnretainedValue()
      return unsafe tokenizer.tokens(bytes.assumingMemoryBound(to: UInt8.self), context, taken)
    }
}
