/// What the user of a world of operations did, and what the server did of it.
///
/// Kept beside the device and the server, so that neither is asked what it should be.

/// One operation that the host was promised.
struct Act {
  var seq: UInt64
  /// The row of a send.
  var number: UInt64 = 0
  var verb: String
  var clientID = ""
  /// The conversation as the host named it.
  var room: String
  /// The message as the host named it.
  var target = ""
  var replyTo = ""
  /// Of the payload it carries.
  var serial = -1
  /// Of the payload that an edit carries.
  var version = 0
  /// How often the user had it sent.
  var tries = 1
  /// It may be there no more: taken back, or made moot by a later one.
  var mayGo = false
  /// It was taken back before the server was told of it.
  var neverTold = false
  /// The version of its payload that the user wrote in place of a refused one.
  var rewrittenAs = 0
  /// Its place among the others is not kept.
  var isLoose = false
  /// What the server made of it.
  var copies: [String] = []
}

/// The drafts of one conversation.
struct Drafts {
  var all: [String] = [""]
  /// From here on they outlast a loss of power.
  var durable = 0
}

struct Acts {
  var all: [Act] = []
  /// Sends by the serial number of their payload.
  var sends: [Int: Int] = [:]
  var bySeq: [UInt64: Int] = [:]
  var names = 0
  /// What was done on the server: verb, message and more.
  var executed: Set<String> = []
  /// What frames have asked for: verb and message.
  var told: Set<String> = []
  /// Messages whose state the device need not know: a change of them was taken back too late.
  var vague: Set<String> = []
  /// Messages that this user changed.
  var touched: [String: Int] = [:]
  /// What this user's other device sent with the text of a send.
  var foreign: Set<String> = []
  /// The newest send accepted in each conversation of the server.
  var accepted: [String: (seq: UInt64, id: String)] = [:]
  /// The conversations of the server by the client id they were made under.
  var rooms: [String: [String]] = [:]
  /// What the server called each of them, made anew or there already.
  var named: [String: Set<String>] = [:]
  /// Sends that were deleted, by client id.
  var deletedNames: Set<String> = []
  /// What was written and not sent, by conversation; the last is the newest.
  var drafts: [String: Drafts] = [:]
  /// Messages that are to be told as delivered.
  var delivering: Set<String> = []
  var deliveredOnServer: Set<String> = []
  /// How each payload was sealed, by what carries it.
  var sealed: [String: [UInt8]] = [:]
  /// How many payloads of others were sealed.
  var sealings = 0
  /// The newest version of each message that was shown open, while the device has to know it.
  var opened: [String: Int] = [:]
  /// The last word of the user about being told of a conversation, in this process.
  var wishes: [String: (seq: UInt64, isOn: Bool)] = [:]
  /// Subscriptions that this connection has to begin with.
  var mustAsk: Set<String> = []
  /// Until then; a subscription that is not answered holds nothing up for ever.
  var mustAskUntilUs: Int64 = 0
  /// Those whose last question was not answered, and what stands for it.
  var unanswered: [String: String] = [:]
  var lastQuestion = ""
  /// When this connection was asked what it does not answer.
  var unheardUs: [Int64] = []
  /// What others may be told of typing, on this connection.
  var typing: [String] = []

  mutating func add(_ act: Act) -> Int {
    let index = all.count
    all.append(act)
    bySeq[act.seq] = index
    if act.verb == "send_message" { sends[act.serial] = index }
    return index
  }

  /// What only asked is gone with the process, and after a loss of power its number may be
  /// another's.
  mutating func endProcess() {
    wishes = [:]
    mustAsk = []
    unanswered = [:]
    for index in all.indices where World.isFetch(all[index].verb) {
      bySeq[all[index].seq] = nil
      all[index].seq = 0
    }
  }

  /// The send with a client id.
  func send(_ clientID: String) -> Int? {
    all.firstIndex { $0.verb == "send_message" && $0.clientID == clientID }
  }

  /// What waits for one that goes may go too.
  mutating func drop(_ index: Int, untold: Bool) {
    if all[index].mayGo { return }
    all[index].mayGo = true
    all[index].neverTold = untold
    let name = all[index].clientID
    guard !name.isEmpty else { return }
    for other in all.indices where other != index {
      if all[other].target == name || all[other].room == name {
        drop(other, untold: false)
      }
    }
  }

  /// A deletion goes with its send, where that is refused or was not found.
  func isTakenBack(_ act: Act) -> Bool {
    deletedNames.contains(act.clientID) || deletedNames.contains(act.target)
  }
}
