/// From the errors and values of the rooms below to the engine's own, once.
internal import Base
internal import Store
internal import Timeline
internal import Vault
internal import Wire

extension Failure {
  init(_ failure: StoreFailure) {
    switch failure {
    case .vault(let failure): self = Failure(failure)
    case .sqlite(let code): self = .storage(code)
    case .full: self = .full
    case .damaged: self = .damaged
    case .mismatch: self = .mismatch
    case .tooNew: self = .tooNew
    case .notOurs: self = .notOurs
    case .closed: self = .closed
    case .notFound: self = .notFound
    case .broken(let text): self = .internal(StaticText(text))
    }
  }

  init(_ failure: VaultFailure) {
    switch failure {
    case .notOurs: self = .notOurs
    case .damaged: self = .damaged
    case .wrongKey: self = .key
    case .tooNew: self = .tooNew
    case .locked: self = .locked
    case .linked: self = .linked
    case .notFound: self = .notFound
    case .full: self = .full
    case .io(let code): self = .storage(code)
    }
  }
}

extension ClientConfig {
  var storeConfig: StoreConfig {
    let kind: StoreConfig.Kind =
      switch file {
      case .memory:
        .memory
      case .path(let path, let key, let create, let strict):
        .file(path: path, key: key, create: create, strict: strict, baseVFS: baseVFS)
      }
    return StoreConfig(
      kind: kind, account: account, user: user,
      positionKind: profile.capabilities.contains(.sequence) ? 1 : 0,
      cacheBytes: cacheBytes)
  }
}

extension BadItem {
  /// The reason's number in the file; numbers are never reused.
  var code: Int64 {
    switch self {
    case .notAnObject: 1
    case .tooLarge: 2
    case .noId: 3
    case .idTooLong: 4
    case .badId: 5
    case .noSender: 6
    case .noTime: 7
    case .badTime: 8
    case .noPayload: 9
    case .badConversation: 10
    case .wrongConversation: 11
    case .noUser: 12
    case .noReactions: 13
    case .noSequence: 14
    case .tooMany: 15
    }
  }

  /// A page of which nothing could be read.
  static let wholePageCode: Int64 = 100
  /// An update of which nothing but the ref could be read.
  static let brokenUpdateCode: Int64 = 101
}
