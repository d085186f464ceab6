/// What the host is told of the engine's work.
///
/// Rule protected: a counter, a line or a word that there is news has one owner; what an input set
/// aside is forgotten when the next one begins.
internal import Base

struct Report {
  var stats = Stats()
  var logLines = LogLines()
  /// What the input that is being taken has set aside.
  var aside = SetAside()
  /// Why it is of no use.
  var ignored: StaticText?
  /// Whether the host should look.
  private(set) var hasNews = false

  mutating func beginInput() {
    aside = SetAside()
    ignored = nil
  }

  mutating func tellHost() { hasNews = true }

  /// What was written since it was last taken, and whether the host should look.
  mutating func take() -> (lines: LogLines, hasNews: Bool) {
    defer {
      logLines = LogLines()
      hasNews = false
    }
    return (logLines, hasNews)
  }
}
