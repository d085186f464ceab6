/// What a store has to know to be opened.
package import Base
internal import Text
internal import Vault

/// How a store is opened.
package struct StoreConfig: Sendable {
  package enum Kind: Sendable, Equatable {
    /// Nothing outlives the process.
    case memory
    /// An encrypted file; `baseVFS` is what the vault stands on, nil for its own
    /// choice.
    case file(path: String, key: HostKey, create: Bool, strict: Bool, baseVFS: String?)
  }

  package var kind: Kind
  /// Keeps what would be in a file, under the name that `path` is.
  package var storage: (any HostStorage)?
  /// What was kept of a file that was let go of.
  package var kept: KeptStore?
  /// Bound to the file; another one is a mismatch.
  package var account: [UInt8]
  /// Bound to the file; also the name under which own reads are kept.
  package var user: [UInt8]
  /// Bound to the file: what the first part of a position is. 0 is time.
  package var positionKind: Int64
  /// A commit that the host knows of: a file that lacks it is an older one.
  package var leastCommit: UInt64 = 0
  /// Refuse a file that lacks commits.
  package var refusesLoss = false
  /// Memory for decrypted pages, of all connections at rest together.
  package var cacheBytes: UInt64
  /// A few new messages wait to be indexed, until `SearchControl.work` is called.
  package var indexesLater = false
  /// Names of the members that are searched, with spaces between them; nil for the usual ones.
  package var searchMembers: [UInt8]?
  /// Users edit messages of others, too.
  package var othersEdit = false
  /// Entries of the trace of changes; 0 for none.
  package var traceMax = 0
  /// Whether a payload that the server prints is the one that was sent.
  package var isSamePayload: @Sendable (_ sent: [UInt8], _ printed: [UInt8]) -> Bool = { $0 == $1 }

  package init(
    kind: Kind, account: [UInt8], user: [UInt8], positionKind: Int64 = 0,
    cacheBytes: UInt64 = 16 << 20
  ) {
    self.kind = kind
    self.account = account
    self.user = user
    self.positionKind = positionKind
    self.cacheBytes = cacheBytes == 0 ? 16 << 20 : cacheBytes
  }
}

extension StoreConfig {
  /// The same file once more, which has to be there.
  package func again(_ kept: KeptStore) -> StoreConfig {
    var next = self
    next.kept = kept
    if case .file(let path, let key, _, let strict, let baseVFS) = kind {
      next.kind = .file(path: path, key: key, create: false, strict: strict, baseVFS: baseVFS)
    }
    return next
  }
}

/// A store that was let go of, to be opened again.
package struct KeptStore: Sendable {
  let file: KeptFile
  /// The newest commit: a file that lacks it is an older copy.
  let lsn: UInt64
}

/// Whose file it is, and what is known of the server of its messages.
struct StoreRules: Sendable {
  var user: [UInt8]
  var othersEdit: Bool
  var traceMax: Int
  var isSamePayload: @Sendable ([UInt8], [UInt8]) -> Bool

  /// For who applies no message.
  init(user: [UInt8]) {
    self.user = user
    othersEdit = false
    traceMax = 0
    isSamePayload = { $0 == $1 }
  }

  init(_ config: StoreConfig) {
    user = config.user
    othersEdit = config.othersEdit
    traceMax = config.traceMax
    isSamePayload = config.isSamePayload
  }
}

extension StoreConfig {
  var members: MemberNames { searchMembers.map { MemberNames($0) } ?? .common }
}
