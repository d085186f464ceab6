/// Something a window wants to have loaded: how much, on which side of what, and what was tried.
internal import Base
internal import Store
internal import Timeline

struct PendingLoad {
  enum Aim {
    /// Towards older messages, from below this boundary.
    case older(Position)
    /// Towards newer messages, from this boundary on.
    case newer(Position)
    /// A place that has to be found first.
    case place(At)
    /// Both sides of a boundary where rows once stood.
    case beside(Position)
    /// From this boundary down to the other: one gap.
    case fill(from: Position, to: Position)
  }

  /// What is done where a gap lies in the way.
  enum AtGap {
    /// It is asked for; offline, what is cached beyond it is shown.
    case ask
    /// What is cached beyond it is shown, and only what then lacks is asked for.
    case showAndAsk
    /// What is cached beyond it is shown.
    case show
  }

  var aim: Aim
  var want: Int
  var atGap: AtGap
  /// What was asked for it last, the newest at the end; where one of these would be asked
  /// again nothing has moved, and it gives up.
  private(set) var tried: [SyncRequest.Kind] = []
  /// It takes what the cache has and asks no more.
  var hasGivenUp = false
  /// What would bring it on.
  var next: SyncRequest?
  /// Where too many rows must leave, what it loads stays. Of several wishes only the
  /// host's last one says so.
  var leads = false
  /// The ends of what it showed at this look while it waits for its place.
  var meanwhile: (low: Position, high: Position)?
  /// The host or the bound took some of that away: until the place is whole, only the place
  /// itself is loaded from now on.
  var isTrimmed = false
  /// The oldest and the newest row that it loaded at this look.
  var grown: (low: Position, high: Position)?

  init(_ aim: Aim, want: Int, atGap: AtGap) {
    self.aim = aim
    self.want = want
    self.atGap = atGap
  }

  /// The newest messages: what is cached of them at once, then what lacks.
  static func newest(_ want: Int, leads: Bool = false) -> PendingLoad {
    var wish = PendingLoad(.older(.max), want: want, atGap: .showAndAsk)
    wish.leads = leads
    return wish
  }

  /// Notes what is asked for it. What turns in a circle turns in a small one.
  mutating func remember(tried kind: SyncRequest.Kind) {
    if tried.last == kind { return }
    tried = tried.suffix(7) + [kind]
  }

  /// A new connection may bring what the one before did not.
  mutating func beginAgain() {
    tried = []
    hasGivenUp = false
  }

  /// Whether the other wish is for the same side, or for the same gap.
  func isLike(_ other: PendingLoad) -> Bool {
    switch (aim, other.aim) {
    case (.older, .older), (.newer, .newer), (.place, .place),
      (.beside, .beside):
      true
    case (.fill(let mine, _), .fill(let theirs, _)): mine == theirs
    default: false
    }
  }
}
