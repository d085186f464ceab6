/// What can go wrong in the store, and the one place where an SQLite result
/// becomes a failure.
///
/// Payloads are codes and static text, never user data, so a failure can be
/// logged without leaking a message.
internal import Base
internal import CSQLite
package import Vault

package enum StoreFailure: Error, Equatable, Sendable {
  /// The encrypted file refused: wrong key, locked, input and output.
  case vault(VaultFailure)
  /// An SQLite result with no name of its own here.
  case sqlite(Int32)
  /// The disk is full; nothing changed.
  case full
  /// Stored bytes were changed or lost.
  case damaged
  /// The file is bound to something else than the host says.
  case mismatch(Bound)
  /// The file was written by a later version.
  case tooNew
  /// A database, but not one of ours.
  case notOurs
  /// The store was closed.
  case closed
  /// The store was closed to be opened again.
  case released
  /// No such file, and creating one was not allowed.
  case notFound
  /// A rule that the code itself guarantees does not hold.
  case broken(StaticString)

  /// What a file is bound to for life.
  package enum Bound: Sendable { case account, user, positionKind }

  package static func == (a: StoreFailure, b: StoreFailure) -> Bool {
    switch (a, b) {
    case (.vault(let x), .vault(let y)): x == y
    case (.sqlite(let x), .sqlite(let y)): x == y
    case (.full, .full), (.damaged, .damaged), (.tooNew, .tooNew): true
    case (.notOurs, .notOurs), (.closed, .closed), (.notFound, .notFound): true
    case (.released, .released): true
    case (.mismatch(let x), .mismatch(let y)): x == y
    case (.broken(let x), .broken(let y)): x.description == y.description
    default: false
    }
  }
}

extension StoreFailure {
  /// A rule of the code that does not hold, said where it was found.
  package static func broke(
    _ rule: StaticString, file: StaticString = #fileID, line: UInt = #line
  ) -> StoreFailure {
    Invariants.report(rule, file, line)
    return .broken(rule)
  }

  /// Names a failure of the vault; conditions that both modules know become one.
  init(_ failure: VaultFailure) {
    switch failure {
    case .full: self = .full
    case .damaged: self = .damaged
    case .notOurs: self = .notOurs
    case .tooNew: self = .tooNew
    case .notFound: self = .notFound
    case .lost, .wrongKey, .noSlot, .slotsFull, .lastSlot, .noSuchSlot, .oldSlot, .locked, .linked,
      .exists, .reserved, .replaced, .moved, .fullAfterChange, .inTheWay, .noDescriptor, .io:
      self = .vault(failure)
    }
  }

  /// Names an extended SQLite result code. Every code passes through here once.
  init(sqlite code: Int32) {
    switch code & 0xFF {
    case SQLITE_FULL:
      self = .full
    // Statements ask before they insert, so a constraint is violated where two pages contradict
    // each other.
    case SQLITE_CORRUPT, SQLITE_FORMAT, SQLITE_CONSTRAINT:
      self = .damaged
    case SQLITE_NOTADB:
      self = .notOurs
    case SQLITE_RANGE, SQLITE_MISUSE:
      self = .broken("a statement was misused")
    default:
      if let failure = Vault.failure(fromSQLite: code) {
        self.init(failure)
      } else {
        self = .sqlite(code)
      }
    }
  }
}
