/// Scrolling: by a finger, to a row at once, to a row in frames.
///
/// At once and in frames end in one place, since the last frame is the scroll at once. A target is
/// kept until a layout is complete: rows on the way to it are measured only then.
internal import Base

/// A way to a target in frames.
struct Animation: Sendable {
  var goal: Viewport.Goal
  var pace: Pace
}

extension Viewport {
  /// Scrolls by `delta`, down for what is above 0. A finger may pull beyond an end. Ends whatever
  /// moves.
  package mutating func scroll(by delta: Int64, isFinger: Bool) {
    (animation, goal) = (nil, nil)
    guard tree.count > 0 else { return }
    let delta = delta.clamped(-(1 << 60), 1 << 60)
    let from = room
    let (low, high) = limits
    let pulls = isFinger && overscroll.isAllowed
    let raw = viewTop &+ delta &+ (pulls ? overscroll.pull : 0)
    let top = raw.clamped(low, high)
    if pulls { overscroll.pull(to: raw &- top) }
    place(at: top)
    // Where the end is depends on rows that are measured now.
    if !pulls, delta != 0, delta < 0 ? raw <= low : raw >= high {
      goal = Goal(kind: delta < 0 ? .topEnd : .bottomEnd, node: 0, inset: 0, isPassing: true)
    }
    bar.scroll(Int(delta.signum()), from: from, to: room, extent: extent)
    if isPlanted(.barByOffset) { bar.jump(to: room, extent: extent) }
  }

  /// Scrolls to a target at once. The next complete layout has it there. False, and nothing is
  /// done, where its row is not in the list.
  package mutating func scroll(to target: Target) throws(ViewportError) -> Bool {
    guard let goal = try goal(target) else { return false }
    overscroll.drop()
    animation = nil
    rounds = 0
    self.goal = goal
    settle()
    bar.jump(to: room, extent: extent)
    return true
  }

  /// Scrolls to a target in frames, which `tick` makes. A speed of 0 is that of the settings.
  package mutating func animate(
    to target: Target, speed: Int64, nowMs: Int64
  ) throws(ViewportError) -> Bool {
    try checkLength(speed)
    guard let goal = try goal(target) else { return false }
    self.goal = nil
    overscroll.release(nowMs)
    let distance = distance(to: goal)
    let way = distance < 0 ? 0 &- distance : distance
    let speed = speed == 0 ? config.speed : speed
    // Beyond this the longest time is exceeded, and the product below would not fit.
    let isLong = way / speed > Limits.viewportAnimationMsMax / 1_000
    let duration = isLong ? config.animationMs : min(way &* 1_000 / speed, config.animationMs)
    animation = Animation(goal: goal, pace: Pace(from: nowMs, durationMs: duration))
    return true
  }

  /// The finger has left: what is pulled beyond an end springs back. False where nothing is.
  package mutating func release(nowMs: Int64) -> Bool {
    overscroll.release(nowMs)
    return overscroll.isSpringing
  }

  /// An animation ends where it is. False where there is none.
  package mutating func stop() -> Bool {
    defer { animation = nil }
    return animation != nil
  }

  /// Goes to the frame of a time. False when nothing moves any more.
  package mutating func tick(nowMs: Int64) -> Bool {
    overscroll.tick(nowMs)
    guard var running = animation else {
      keepVisible()
      return overscroll.isSpringing
    }
    let from = room
    let distance = distance(to: running.goal)
    let left = running.pace.left(of: distance, at: nowMs)
    if running.pace.isOver {
      animation = nil
      rounds = 0
      goal = isPlanted(.lastFrameForgotten) ? nil : running.goal
      settle()
    } else {
      animation = running
      place(at: viewTop &+ distance &- left)
    }
    bar.scroll(Int(distance.signum()), from: from, to: room, extent: extent)
    return animation != nil || overscroll.isSpringing
  }

  /// How far it is to a target, as heights are known now.
  private mutating func distance(to goal: Goal) -> Int64 {
    guard tree.count > 0 else { return 0 }
    let pin = pin(of: goal)
    let (low, high) = limits
    return (edge(pin.node, isBottom: pin.isBottom) &- pin.place).clamped(low, high) &- viewTop
  }

  /// Finds the row of a target.
  private func goal(_ target: Target) throws(ViewportError) -> Goal? {
    let kind: Goal.Kind
    let (key, inset): (UInt64, Int64)
    switch target {
    case .topEnd: return Goal(kind: .topEnd, node: 0, inset: 0)
    case .bottomEnd: return Goal(kind: .bottomEnd, node: 0, inset: 0)
    case .top(let of, let by): (kind, key, inset) = (.top, of, by)
    case .bottom(let of, let by): (kind, key, inset) = (.bottom, of, by)
    }
    guard inset > .min else { throw .tooLarge("a length is over 1,099,511,627,776") }
    try checkLength(inset < 0 ? 0 &- inset : inset)
    guard let node = index[key] else { return nil }
    return Goal(kind: kind, node: node, inset: inset)
  }
}
