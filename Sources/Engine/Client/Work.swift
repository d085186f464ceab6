/// Long work in steps, whatever it is.
///
/// Rule protected: a step is at least one transaction and ends; what is done stays done, and who
/// lets go of the work ends it.
internal import Base

/// What is done in steps.
protocol WorkBody: Sendable {
  /// As little as there is to do at once; whether all is done.
  func step() throws(Failure) -> Bool
  func progress() throws(Failure) -> WorkProgress
}

package final class Work: Sendable {
  package let client: Client
  private let body: any WorkBody

  init(_ client: Client, _ body: any WorkBody) {
    self.client = client
    self.body = body
  }

  /// Works for about so many milliseconds, at least a little.
  package func step(milliseconds: Int64) throws(Failure) -> WorkProgress {
    let start = client.now().monotonicMs
    while try !body.step() {
      if client.now().monotonicMs &- start >= milliseconds { break }
    }
    return try body.progress()
  }

  package func progress() throws(Failure) -> WorkProgress { try body.progress() }
}
