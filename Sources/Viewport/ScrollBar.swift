/// The scroll bar's thumb: where it begins on its track, and how long it is.
///
/// Heights are estimates until rows were seen, and more rows are loaded where one scrolls to. A
/// thumb at `above / total` would jump back then. This one goes by shares: scrolling through a part
/// of what is left to an end takes the thumb through that part of the track that is left. So it
/// never goes back while one scrolls one way, and it stands at an end of its track where the list
/// does.

struct ScrollBar: Equatable, Sendable {
  /// The length of the track, finer than any screen.
  static let track: Int64 = 1 << 40

  private(set) var start: Int64 = 0
  private(set) var size = track
  /// The way it was last scrolled: 1 is down, -1 is up, 0 is by no hand since a jump.
  private(set) var way = 0

  /// How much there is above and below the view.
  struct Room: Equatable, Sendable {
    var above: Int64 = 0
    var below: Int64 = 0
  }

  /// The view was scrolled.
  mutating func scroll(_ way: Int, from: Room, to: Room, extent: Int64) {
    if way != 0 { self.way = way }
    let length = Self.length(to, extent)
    if way > 0 {
      let left = Self.track &- start &- size
      let after = to.below >= from.below ? left : scaled(left, to.below, of: from.below)
      start = max(start, Self.track &- length &- after)
    } else if way < 0, to.above < from.above {
      start = scaled(start, to.above, of: from.above)
    }
    rest(at: to, extent: extent)
  }

  /// The list changed, or what is known of its heights.
  mutating func rest(at room: Room, extent: Int64) {
    let length = Self.length(room, extent)
    if room.above <= 0, room.below <= 0 {
      (start, size, way) = (0, Self.track, 0)
      return
    }
    if way == 0 {
      start = scaled(Self.track &- length, room.above, of: room.above &+ room.below)
    } else if room.above <= 0, way < 0 {
      start = 0
    } else if room.below <= 0, way > 0 {
      start = max(start, Self.track &- length)
    }
    size = min(length, Self.track &- start)
  }

  /// The view stands elsewhere at once.
  mutating func jump(to room: Room, extent: Int64) {
    way = 0
    rest(at: room, extent: extent)
  }

  private static func length(_ room: Room, _ extent: Int64) -> Int64 {
    let total = room.above &+ extent &+ room.below
    return total <= 0 ? track : scaled(track, extent, of: total)
  }
}
