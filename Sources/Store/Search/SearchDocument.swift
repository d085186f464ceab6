/// What the index has of one message, as the bytes that the tokenizer is given.
///
/// Terms of the row come first, each under a mark, then its texts. Rule protected: the same row
/// makes the same bytes, so that what was put in can be taken out again.
internal import Base
internal import Text

/// Bytes of a document that stand for no text.
enum DocumentMark {
  /// Ends a term and a text.
  static let end: UInt8 = 2
  /// Begins a term.
  static let term: UInt8 = 3
}

/// A term under which rows are found beside their words.
enum SearchTerm {
  case conversation(Int64)
  case sender([UInt8])
  case mine
  case attachment

  /// Letters and digits of ASCII behind the mark.
  var token: [UInt8] {
    switch self {
    case .conversation(let cid): [DocumentMark.term] + Array("c\(cid)".utf8)
    case .sender(let id): [DocumentMark.term, UInt8(ascii: "s")] + Self.hex(id)
    case .mine: [DocumentMark.term, UInt8(ascii: "m")]
    case .attachment: [DocumentMark.term, UInt8(ascii: "a")]
    }
  }

  private static func hex(_ bytes: [UInt8]) -> [UInt8] {
    func digit(_ half: UInt8) -> UInt8 { half < 10 ? 0x30 | half : 0x57 &+ half }
    return bytes.flatMap { [digit($0 &>> 4), digit($0 & 15)] }
  }
}

/// What of a row the index goes by.
struct SearchableRow {
  var cid: Int64
  var flags: RowFlags
  var sender: [UInt8]
  var payload: [UInt8]
  var rest: [UInt8]
  /// What the host gave to be searched in place of the payload.
  var searchable: [UInt8]?

  /// Flags of rows that are not found.
  static let notFound = RowFlags.hidden.union([.sealed, .deleted])
  /// A row of which these change is indexed anew.
  static let indexed = notFound.union(.mine)

  /// What is searched of it.
  func texts(_ names: MemberNames) -> [MemberTexts.Member] {
    (searchable.map { MemberTexts(searchable: $0) } ?? MemberTexts(payload, names)).members
  }

  /// Empty where the row is not to be found.
  func document(_ names: MemberNames) -> [UInt8] {
    guard flags.isDisjoint(with: Self.notFound) else { return [] }
    let texts = texts(names).filter { !$0.text.isEmpty }
    guard !texts.isEmpty else { return [] }
    var terms: [SearchTerm] = [.conversation(cid), .sender(sender)]
    if flags.contains(.mine) { terms.append(.mine) }
    if MemberTexts.has("attachment", in: rest) { terms.append(.attachment) }
    var result: [UInt8] = []
    for term in terms {
      result += term.token
      result.append(DocumentMark.end)
    }
    for text in texts {
      for byte in text.text {
        // Both split a text, as a space does.
        result.append(byte == DocumentMark.end || byte == DocumentMark.term ? 0x20 : byte)
      }
      result.append(DocumentMark.end)
    }
    return result
  }
}

extension SearchableRow {
  /// Out of six columns in a row.
  init(_ row: borrowing Statement, from column: Int32) {
    cid = row.int(column)
    flags = RowFlags(rawValue: row.int(column &+ 1))
    sender = row.bytes(column &+ 2)
    payload = row.bytes(column &+ 3)
    rest = row.bytes(column &+ 4)
    // Of a row that is sealed it is something else.
    searchable = flags.contains(.sealed) ? nil : row.optionalBytes(column &+ 5)
  }
}

extension [MemberTexts.Member] {
  /// The size of all texts together.
  var bytes: Int64 { Int64(clamping: reduce(0) { $0 &+ $1.text.count }) }
}

/// The size of the texts of a document, without what marks them and the terms.
func textBytes(ofDocument document: [UInt8]) -> Int64 {
  var bytes = 0
  var isTerm = true
  for (place, byte) in document.enumerated() {
    if place == 0 || document[place &- 1] == DocumentMark.end { isTerm = byte == DocumentMark.term }
    if !isTerm, byte != DocumentMark.end { bytes &+= 1 }
  }
  return Int64(clamping: bytes)
}
