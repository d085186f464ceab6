/// Fuzzes printed times: what is read must print back, floored, in the same form.
///
/// The first nine bytes are a zone and another time, the others the text.
import Base
import Wire

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  let bytes = Array(UnsafeBufferPointer(start: data, count: count))
  guard let first = bytes.first, bytes.count >= 9 else { return 0 }
  let zone = (Int(first) - 128) * 15
  let other = bytes[1..<9].reduce(Int64(0)) { $0 << 8 | Int64($1) }
  guard let stamp = Stamp(Array(bytes[9...]), zoneOffsetMinutes: zone) else { return 0 }
  check(stamp, at: stamp.timeUs, zone)
  check(stamp, at: other, zone)
  check(stamp, at: stamp.timeUs &- other, zone)
  return 0
}

private func check(_ stamp: Stamp, at timeUs: Int64, _ zone: Int) {
  let printed = stamp.printed(ServerTime(us: timeUs))
  demand(printed.count == stamp.text.count, "the form keeps its length")
  guard let again = Stamp(printed, zoneOffsetMinutes: zone) else {
    fatalError("broken promise: a printed time is a time")
  }
  demand(again.resolutionUs == stamp.resolutionUs, "the form keeps its resolution")
  demand(again.printed(again.time) == printed, "a printed time prints as itself")
  // Two days inside the years that can be printed, whatever the zone.
  let inside = -62_135_423_000_000_000...253_402_127_999_999_999 as ClosedRange<Int64>
  if inside.contains(timeUs) {
    demand(again.timeUs <= timeUs, "a time is never rounded up")
    demand(timeUs - again.timeUs < stamp.resolutionUs, "a time loses less than a unit")
  }
}

private func demand(_ condition: Bool, _ text: StaticString) {
  if !condition { fatalError("broken promise: \(text)") }
}
