/// What the server tells unasked, by push or as an update that wants a reply: one form for both.
internal import Base
internal import Store
internal import Timeline
internal import Wire

/// A push or an update, in one form.
struct ServerUpdate {
  /// The entity of an update, the type of a push.
  let name: [UInt8]
  let action: EventAction
  let isSilent: Bool
  /// Nil for a push, which nobody waits for.
  let ref: [UInt8]?
  let effects: [Effect]
  /// The whole update.
  let raw: Range<Int>?
  /// Why nothing of it can be applied.
  let fault: BadItem?
  /// What is lost with one that is broken.
  let skipped: SkippedList?

  init(_ push: Push) {
    name = push.name
    action = EventAction(push)
    isSilent = false
    ref = nil
    effects = push.effects
    raw = nil
    fault = nil
    skipped = nil
  }

  init(_ update: Update) {
    name = update.entity
    action = EventAction(update.action)
    isSilent = update.silent
    ref = update.ref
    effects = update.effects
    raw = update.raw
    fault = update.fault
    skipped = update.skipped
  }
}

/// The frame of a delivery, and when it came.
struct Arrival {
  let frame: [UInt8]
  /// One for each readable message, in their order.
  let opened: ArraySlice<OpenedPayload>
  let now: Instant
}
