/// A client in memory whose server is three lines of this program: each message that comes is shown
/// as the feed tells of it.
import Tideline

func push(_ number: Int) -> String {
  """
  {"type":"message_new","message":{"message_id":"m\(number)","conversation_id":"general",\
  "sender_id":"jan","payload":{"text":"hi \(number)"},"created_at":"2026-02-15T22:15:4\(number)"}}
  """
}

let client = try Client(user: "eva")
do {
  try client.receive("no JSON")
} catch {
  // The type of `error` is known here: Failure, and nothing else.
  print("refused: \(error), transient: \(error.isTransient)")
}
do {
  for try await _ in client.changes(after: 1_000) {}
} catch {
  print("resync: \(error.reason)")
}

try client.connected()
let running = Task {
  try await client.run { @Sendable frame in print("sends \(frame.prefix(22))...") }
}
let pushing = Task {
  for number in 1...3 { try client.receive(push(number)) }
  try client.send("general", payload: #"{"text":"ahoj"}"#)
}
var inserted = 0
for try await change in client.changes() where change.isInsertion {
  inserted += Int(change.last - change.first + 1)
  print("change \(change.seq) of \(change.conversation): \(inserted) so far")
  if inserted == 4 { break }
}
try await pushing.value
running.cancel()
_ = await running.result
for message in try client.messages("general") {
  print("\(message.sender): \(message.payload)")
}
