/// A constant of the library as a text: all that reasons and log lines are made of.
///
/// Rule protected: what came from outside cannot be in one, since it is made of literals only.

package struct StaticText: Hashable, Sendable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  private let subject: StaticString?
  private let words: StaticString

  package init(stringLiteral words: StaticString) {
    self.init(words)
  }

  package init(_ words: StaticString) {
    subject = nil
    self.words = words
  }

  /// What is said of a member of the protocol, or of another thing with a name of its own.
  package init(_ subject: StaticString, _ words: StaticString) {
    self.subject = subject
    self.words = words
  }

  package var description: String {
    subject.map { "\($0) \(words)" } ?? "\(words)"
  }

  package static func == (a: StaticText, b: StaticText) -> Bool {
    a.description == b.description
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(description)
  }
}
