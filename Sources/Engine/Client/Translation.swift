/// From the errors and values of the modules below to the engine's own, once.
internal import Base
internal import Store
internal import Timeline
internal import Vault
internal import Wire

extension Failure {
  /// What is wrong with a frame as a whole.
  init(frame failure: WireFailure) {
    let text = failure.text(of: "the frame")
    self = failure == .tooLarge ? .tooLarge(text) : .frame(text)
  }

  init(_ failure: StoreFailure) {
    switch failure {
    case .vault(let failure): self = Failure(failure)
    case .sqlite(let code): self = .storage(code)
    case .full: self = .noRoomOnDisk
    case .damaged: self = .damaged
    case .mismatch(.account): self = .mismatch("the file is of another account")
    case .mismatch(.user): self = .mismatch("the file is of another user")
    case .mismatch(.positionKind):
      self = .mismatch("the file and the profile differ in TL_SERVER_SEQUENCE or TL_SERVER_LOG")
    case .tooNew: self = .tooNew("the file is of a later version")
    case .notOurs: self = .notOurs
    case .closed: self = .closed
    case .released: self = .released
    case .notFound: self = .notFound("there is no file at path")
    case .broken(let text): self = .internal(StaticText(text))
    }
  }

  init(_ failure: VaultFailure) {
    switch failure {
    case .notOurs: self = .notOurs
    case .damaged: self = .damaged
    case .lost: self = .lost
    case .wrongKey: self = .key
    case .noSlot: self = .noSlot
    case .slotsFull: self = .tooLarge("all eight key slots are used; remove one, or change one")
    case .lastSlot: self = .invalid("no other key slot opens the file; add one first")
    case .oldSlot:
      self = .unsupported("an earlier version made a key slot; change it to the same key first")
    case .noSuchSlot: self = .notFound("there is no such key slot")
    case .tooNew: self = .tooNew("the file is of a later version")
    case .locked: self = .locked
    case .linked: self = .linked
    case .moved: self = .moved
    case .inTheWay: self = .inTheWay
    case .noDescriptor: self = .noDescriptor
    case .notFound: self = .notFound("there is no file at path")
    case .exists: self = .invalid("a file, its log or own work is at path already")
    case .reserved: self = .invalid("the end of path is that of a file beside another one")
    case .replaced: self = .mismatch("the file is another one than before, or an older copy")
    case .full: self = .noRoomOnDisk
    case .fullAfterChange:
      self = .full("the disk is full; the keys were changed, in one of two copies of the header")
    case .io(let code): self = .storage(code)
    }
  }
}

/// Which account a frame is for, as a range of its bytes.
package func frameAccountRange(_ bytes: [UInt8]) throws(Failure) -> Range<Int>? {
  do {
    return try frameAccount(of: bytes)
  } catch {
    throw Failure(frame: error)
  }
}

extension MessageStore {
  /// What a storage of the host's that another holder has, or whose sync failed, answers.
  var failure: Failure? {
    guard let failure = givenUp else { return nil }
    return Failure(failure)
  }

  /// Ends the use of such a storage: nothing of the call is handed out, and what is known goes. The
  /// caller has the engine; where another one has, that one does it when it leaves.
  func endWhereGivenUp() throws(Failure) {
    guard let failure else { return }
    close()
    throw failure
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
    var target = StoreConfig(
      kind: kind, account: account, user: user,
      positionKind: PositionScheme(profile, overlapUs: 0).kind,
      cacheBytes: cacheBytes)
    target.storage = storage
    target.searchMembers = profile.searchMembers
    target.othersEdit = profile.othersEdit || profile.isPlanted(.otherEditsCount)
    if !profile.isPlanted(.printedAnewIsAnother) { target.isSamePayload = isSameJSON }
    target.indexesLater = true
    target.leastCommit = leastCommit
    target.refusesLoss = refusesLoss
    target.traceMax = traceMax
    return target
  }
}

extension BadItem {
  /// The reason's number in the file; numbers are never reused.
  var code: Int64 {
    switch self {
    case .notAnObject: 1
    case .tooLarge: 2
    case .noId: 3
    case .noSender: 6
    case .noTime: 7
    case .badTime: 8
    case .noPayload: 9
    case .badConversation: 10
    case .wrongConversation: 11
    case .noUser: 12
    case .noReactions: 13
    case .noSequence: 14
    case .idTooLong(.message): 16
    case .idTooLong(.sender): 17
    case .idTooLong(.conversation): 18
    case .idTooLong(.user): 19
    case .badId(.message): 20
    case .badId(.sender): 21
    case .badId(.conversation): 22
    case .badId(.user): 23
    case .tooMany(.readBy): 24
    case .tooMany(.deliveredBy): 25
    case .tooMany(.listenedBy): 26
    case .tooMany(.reactions): 27
    case .tooMany(.items): 28
    case .tooMany(.messageIDs): 29
    case .tooOften: 30
    case .noAction: 31
    case .noEntity: 32
    case .noItems: 33
    case .notJSON: 34
    }
  }

  /// A page of which nothing could be read.
  static let wholePageCode: Int64 = 100

  /// An entry of a log that lacks what only such a one must have.
  static let entryCode: Int64 = 102

  /// The number of a reason that is told in words.
  static func code(of reason: StaticText) -> Int64 {
    all.first { $0.text == reason }?.code ?? entryCode
  }

  /// The words for a reason's number in the file; nil for one of another version.
  static func text(code: Int64) -> StaticText? {
    switch code {
    // What earlier versions wrote, which did not tell which member it was.
    case 4: "an id is over 512 bytes"
    case 5: "an id has half a surrogate pair"
    case 15: "a list has over 10,000 entries"
    case 101: "an update of which only ref can be read"
    case wholePageCode: "a page has no item that can be read"
    case entryCode: "an entry of a log cannot be read"
    default: all.first { $0.code == code }?.text
    }
  }
}
