/// What the world knows of every message it ever posted, apart from the server and the device.
///
/// A payload carries the message's serial number and its version, so what a row is can be told
/// from its content alone, also where a restored server hands out an id twice.
internal import Glibc

struct Ledger {
  struct Posted {
    var conversation: Int
    var id: String
    var mine: Bool
    var control: Bool
    /// Committed later than stamped, so a range fetched before may lack it.
    var late: Bool
    /// Stamped years ahead.
    var future: Bool
    /// No client can read it.
    var isQuarantined = false
    /// An update of it had too long a list once: the device asks, and its ref brings nothing more.
    var isLongListed = false
    /// The payload of each version, the first at index 0.
    var payloads: [[UInt8]]
    /// The newest version handed to the device and taken; 0 for none.
    var delivered = 0
    /// Changes of the reactions so far, and the newest one handed over and taken.
    var reactions = 0
    var reactionsDelivered = 0
    /// This user's device sends it, or changes it: what is shown need not be what was told last.
    var isOperated = false
  }

  /// A serial number and a version, as printed in a payload.
  struct Mark: Equatable {
    var serial: Int
    var version: Int
  }

  private(set) var posted: [Posted] = []
  /// Ids that the server has been told this user has read, and has not forgotten by a restore.
  var readOnServer: Set<String> = []
  /// Ids whose reading the device saw confirmed.
  var confirmed: Set<String> = []
  /// Ids that the host asked to be marked read.
  var marked: Set<String> = []
  /// Ids that the host forgot.
  var forgotten: Set<String> = [] {
    didSet { forgettings += 1 }
  }
  /// Grows whenever the host forgets or a loss undoes it.
  private(set) var forgettings = 0
  /// Ids that the host ever forgot, also where a loss of power undid it.
  var everForgotten: Set<String> = []
  /// Ids that this user is about to delete: they are not shown.
  var deleting: Set<String> = [] {
    didSet { forgettings += 1 }
  }
  /// Ids whose deletion was asked for on the server.
  var deleted: Set<String> = []
  /// Serial numbers by id, the last posted one.
  private var serials: [String: Int] = [:]

  static func payload(_ mark: Mark, control: Bool, shape: Int) -> [UInt8] {
    let body = "P~\(mark.serial)~\(mark.version)~"
    let filler = String(repeating: "příliš 🐎 ", count: shape % 5)
    if control { return Array("{\"_control\":true,\"t\":\"\(body)\"}".utf8) }
    switch shape % 3 {
    case 0: return Array("\"\(body)\(filler)\"".utf8)
    case 1: return Array("{\"t\":\"\(body)\(filler)\",\"n\":[\(mark.serial),null]}".utf8)
    default: return Array("{ \"t\" : \"\(body)\" , \"e\":{\"k\":-1.5e3} }".utf8)
    }
  }

  /// Every mark in `bytes`: a payload's own, or those of all rows of a frame.
  ///
  /// `R` instead of `P` finds those of reactions, `E` those of events.
  static func marks(_ bytes: [UInt8], _ letter: UInt8 = 0x50) -> [Mark] {
    var found: [Mark] = []
    bytes.withUnsafeBufferPointer { text in
      var index = 0
      while let mark = next(text, letter, &index) { found.append(mark) }
    }
    return found
  }

  /// The first mark from `index` on, which goes behind it.
  private static func next(
    _ text: UnsafeBufferPointer<UInt8>, _ letter: UInt8, _ index: inout Int
  ) -> Mark? {
    guard let start = text.baseAddress else { return nil }
    while index + 4 < text.count {
      // Few letters stand before a tilde, so the tilde is looked for.
      guard let found = memchr(start + index + 1, 0x7E, text.count - index - 4) else { return nil }
      let tilde = UnsafeRawPointer(found) - UnsafeRawPointer(start)
      index = tilde
      guard text[tilde - 1] == letter else { continue }
      index += 1
      let serial = number(text, &index)
      index += 1
      return Mark(serial: serial, version: number(text, &index))
    }
    return nil
  }

  /// The first mark of a payload; nil where there is none.
  static func mark(_ bytes: [UInt8]) -> Mark? {
    bytes.withUnsafeBufferPointer { text in
      var index = 0
      return next(text, 0x50, &index)
    }
  }

  private static func number(_ text: UnsafeBufferPointer<UInt8>, _ index: inout Int) -> Int {
    var value = 0
    while index < text.count, text[index] >= 0x30, text[index] <= 0x39 {
      value = value &* 10 &+ Int(text[index] &- 0x30)
      index += 1
    }
    return value
  }

  var nextSerial: Int { posted.count }

  mutating func add(_ message: Posted) {
    serials[message.id] = posted.count
    posted.append(message)
  }

  /// Content that this device will send; the server knows nothing of it yet.
  mutating func reserve(_ payload: [UInt8]) -> Int {
    var message = Posted(
      conversation: -1, id: "unsent-\(posted.count)", mine: true, control: false, late: false,
      future: false, payloads: [payload])
    message.isOperated = true
    add(message)
    return posted.count - 1
  }

  /// The server has a message with that content now; the first one gives it its name.
  mutating func place(_ serial: Int, id: String, in conversation: Int) {
    if posted[serial].conversation < 0 { posted[serial].id = id }
    posted[serial].conversation = conversation
    serials[id] = serial
  }

  mutating func note(operated serial: Int) { posted[serial].isOperated = true }

  mutating func note(longListed bytes: [UInt8]) {
    for mark in Self.marks(bytes) where mark.serial < posted.count {
      posted[mark.serial].isLongListed = true
    }
  }

  mutating func addVersion(_ serial: Int, _ payload: [UInt8]) {
    posted[serial].payloads.append(payload)
  }

  mutating func addReaction(_ serial: Int) -> Int {
    posted[serial].reactions += 1
    return posted[serial].reactions
  }

  /// What a loss of power took away is not there to be judged by.
  mutating func noteDelivered(_ serial: Int, atMost mark: Mark?, reaction: Mark?) {
    posted[serial].delivered = min(posted[serial].delivered, mark?.version ?? 0)
    posted[serial].reactionsDelivered = min(
      posted[serial].reactionsDelivered, reaction?.version ?? 0)
  }

  func serial(ofID id: String) -> Int? { serials[id] }

  /// Notes what a frame that the device took has brought to it, of `known` serials only where
  /// they are given.
  mutating func noteDelivered(_ bytes: [UInt8], of known: Set<Int>? = nil) {
    func counts(_ mark: Mark) -> Bool {
      mark.serial < posted.count && known?.contains(mark.serial) != false
    }
    for mark in Self.marks(bytes) where counts(mark) {
      if posted[mark.serial].delivered < mark.version {
        posted[mark.serial].delivered = mark.version
      }
    }
    for mark in Self.marks(bytes, 0x52) where counts(mark) {
      if posted[mark.serial].reactionsDelivered < mark.version {
        posted[mark.serial].reactionsDelivered = mark.version
      }
    }
  }

  /// A restored server has lost the reading state and perhaps the newest versions.
  mutating func noteRestored() {
    readOnServer = []
    confirmed = []
    marked = []
    for serial in posted.indices {
      posted[serial].delivered = 0
      posted[serial].reactionsDelivered = 0
    }
  }
}
