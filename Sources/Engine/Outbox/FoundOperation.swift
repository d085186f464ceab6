/// Operations as the host reads them: what each waits for is said from what the store
/// has and from what the process knows.
internal import Base
internal import Store

/// An operation with the name of its conversation.
struct FoundOperation {
  var record: OperationRecord
  var conversation: [UInt8]
}

extension OperationStanding {
  init(_ state: OperationState) {
    self =
      switch state {
      case .queued: .queued
      case .inFlight, .answered: .inFlight
      case .unknown: .unknown
      case .refused: .refused
      case .done: .done
      }
  }
}

extension OperationRecord {
  /// JSON object of the other members, the payload as it was given.
  var request: [UInt8] {
    var json = members
    if verb.hasPayload, let plain {
      json += Array((json.isEmpty ? "" : ",").utf8) + Array("\"payload\":".utf8) + plain
    }
    return [UInt8(ascii: "{")] + json + [UInt8(ascii: "}")]
  }
}
