/// What tests ask of a client that no host may.
@testable import Engine

extension Client {
  /// Who is typing in a conversation, in the order in which they began.
  func typing(conversation: [UInt8]) -> [[UInt8]] {
    snapshot.withLock { $0.typing.users[conversation] ?? [] }
  }
}
