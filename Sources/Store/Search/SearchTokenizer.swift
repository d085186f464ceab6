/// Gives SQLite's full-text search (FTS5) the tokenizer of Text.
///
/// Rule protected: a text is cut by the one tokenizer, and what stands in a query is a token as it
/// is, so that no byte of it is cut again.

internal import CSQLite
internal import Text

/// The tokenizer of one full-text table. Its arguments are the lengths of words' beginnings that
/// become tokens: `tokenize = 'tideline 2 3 4'`. With `rows` before them what it cuts are the
/// documents of `SearchableRow`.
@safe final class SearchTokenizer {
  static let name: StaticString = "tideline"
  /// Tokens that are held at a time.
  private static let part = 512

  private var tokenizer: Tokenizer
  private let cutsRows: Bool

  private init(_ lengths: [Int], cutsRows: Bool) {
    tokenizer = Tokenizer(.text(PrefixLengths(lengths)))
    self.cutsRows = cutsRows
  }

  /// The one that the index of messages has.
  static func forRows() -> SearchTokenizer {
    SearchTokenizer(PrefixLengths.common.lengths, cutsRows: true)
  }

  /// The sum of the tokens of a document, as the index has them at a place.
  func sum(_ document: [UInt8], _ place: Int64) -> UInt64 {
    var sum = TokenSum(place)
    let take: TokenTaken = { sum, flags, token, count, _, _ in
      guard let sum = unsafe sum else { return SQLITE_MISUSE }
      // FTS5 cuts what is longer.
      let bytes = unsafe UnsafeRawBufferPointer(start: token, count: Int(clamping: count))
      unsafe sum.assumingMemoryBound(to: TokenSum.self).pointee.take(
        bytes, isColocated: flags & FTS5_TOKEN_COLOCATED != 0)
      return SQLITE_OK
    }
    unsafe document.withUnsafeBufferPointer { document in
      unsafe withUnsafeMutablePointer(to: &sum) { sum in
        _ = unsafe rowTokens(document, UnsafeMutableRawPointer(sum), take)
      }
    }
    return sum.sum
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
    let made = unsafe named(name) { unsafe create(api, $0, nil, &methods, nil) }
    guard made == SQLITE_OK, let add = unsafe api.pointee.xCreateFunction else { return made }
    let counted = unsafe named(SearchCounts.name) {
      unsafe add(api, $0, nil, SearchCounts.function, nil)
    }
    guard counted == SQLITE_OK else { return counted }
    return unsafe named(SearchSum.name) { unsafe add(api, $0, nil, SearchSum.function, nil) }
  }

  private static func named(
    _ name: StaticString, _ body: (UnsafePointer<CChar>) -> Int32
  ) -> Int32 {
    unsafe name.utf8Start.withMemoryRebound(
      to: CChar.self, capacity: name.utf8CodeUnitCount
    ) { unsafe body($0) }
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
    _ taken: TokenTaken, offset: Int = 0
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
            Int32(truncatingIfNeeded: entry.source.lowerBound &+ offset),
            Int32(truncatingIfNeeded: entry.source.upperBound &+ offset))
          if code != SQLITE_OK { return code }
        }
        return SQLITE_OK
      }
      if code != SQLITE_OK { return code }
    }
    return SQLITE_OK
  }

  /// The same for a document: its terms are tokens as they are, and a token stands between two
  /// texts, so that no phrase crosses them.
  func rowTokens(
    _ document: UnsafeBufferPointer<UInt8>, _ context: UnsafeMutableRawPointer?,
    _ taken: TokenTaken
  ) -> Int32 {
    var first = 0
    var hasText = false
    while first < document.count {
      var end = first
      while unsafe end < document.count && document[end] != DocumentMark.end { end &+= 1 }
      let part = unsafe UnsafeBufferPointer(rebasing: document[first..<end])
      var code = SQLITE_OK
      if unsafe part.first == DocumentMark.term {
        code = unsafe token(document, first..<end, context, taken)
      } else {
        // What ended the text before it.
        if hasText { code = unsafe token(document, first &- 1..<first, context, taken) }
        if code == SQLITE_OK { code = unsafe tokens(part, context, taken, offset: first) }
        hasText = true
      }
      if code != SQLITE_OK { return code }
      first = end &+ 1
    }
    return SQLITE_OK
  }

  private func token(
    _ document: UnsafeBufferPointer<UInt8>, _ range: Range<Int>,
    _ context: UnsafeMutableRawPointer?, _ taken: TokenTaken
  ) -> Int32 {
    let bytes = unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(document)[range])
    return unsafe taken(
      context, 0, bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
      Int32(truncatingIfNeeded: range.count), Int32(truncatingIfNeeded: range.lowerBound),
      Int32(truncatingIfNeeded: range.upperBound))
  }

  // MARK: - What FTS5 calls

  typealias TokenTaken =
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
      var cutsRows = false
      for place in 0..<Int(clamping: count) {
        guard let argument = unsafe arguments?[place] else { return SQLITE_ERROR }
        let text = unsafe String(cString: argument)
        if place == 0, text == "rows" {
          cutsRows = true
          continue
        }
        guard let length = Int(text), length > 0,
          length <= PrefixLengths.max
        else { return SQLITE_ERROR }
        lengths.append(length)
      }
      unsafe made.pointee = OpaquePointer(
        Unmanaged.passRetained(SearchTokenizer(lengths, cutsRows: cutsRows)).toOpaque())
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
      let source = unsafe bytes.assumingMemoryBound(to: UInt8.self)
      if tokenizer.cutsRows { return unsafe tokenizer.rowTokens(source, context, taken) }
      return unsafe tokenizer.tokens(source, context, taken)
    }
}
