/// What can go wrong, as the host will see it: one case a status of the header.
///
/// The rooms below throw their own errors; they are translated here, once. Texts
/// are constants, so no message, id, key or path can leak into a log.
package enum Failure: Error, Equatable, Sendable {
  case invalid(StaticText)
  case closed
  case storage(Int32)
  /// Another name leads to the file.
  case linked
  case full
  case key
  case tooNew
  case damaged
  case locked
  case notOurs
  case frame
  case tooLarge(StaticText)
  case notFound
  case mismatch
  case unsupported(StaticText)
  case offline
  case timeout
  case refused
  case unavailable
  case cancelled
  case incomplete
  case `internal`(StaticText)
}

/// A constant text that can be compared.
package struct StaticText: Equatable, Sendable, ExpressibleByStringLiteral {
  package let text: StaticString

  package init(stringLiteral text: StaticString) {
    self.text = text
  }

  package init(_ text: StaticString) {
    self.text = text
  }

  package static func == (a: StaticText, b: StaticText) -> Bool {
    a.text.description == b.text.description
  }
}
