/// The two transports: newline-delimited JSON over TCP, and WebSocket.

import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// The largest frame a client may send.
private let frameBytesMax = 1 << 20

func listenForLines(
  _ group: any EventLoopGroup, _ world: NIOLoopBound<World>
) -> ServerBootstrap {
  ServerBootstrap(group: group)
    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
    .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
    .childChannelInitializer { channel in
      channel.eventLoop.makeCompletedFuture {
        let lines = ByteToMessageHandler(LineDecoder(), maximumBufferSize: frameBytesMax)
        try channel.pipeline.syncOperations.addHandlers(lines, LineHandler(world.value))
      }
    }
}

func listenForWebSockets(
  _ group: any EventLoopGroup, _ world: NIOLoopBound<World>
) -> ServerBootstrap {
  ServerBootstrap(group: group)
    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
    .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
    .childChannelInitializer { channel in
      let plain = PlainHTTPHandler()
      let upgrader = NIOWebSocketServerUpgrader(
        maxFrameSize: frameBytesMax,
        shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
        upgradePipelineHandler: { channel, head in
          channel.eventLoop.makeCompletedFuture {
            let whole = NIOWebSocketFrameAggregator(
              minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1 << 16,
              maxAccumulatedFrameSize: frameBytesMax)
            let handler = WebSocketHandler(world.value, query: WebSocketQuery(head.uri))
            try channel.pipeline.syncOperations.addHandlers(whole, handler)
          }
        })
      return channel.pipeline.configureHTTPServerPipeline(
        withServerUpgrade: (
          upgraders: [upgrader],
          completionHandler: { $0.pipeline.removeHandler(plain, promise: nil) }
        )
      ).flatMap { channel.pipeline.addHandler(plain) }
    }
}

/// Who connects, as the query of a WebSocket's address says it.
struct WebSocketQuery {
  let user: String?
  let account: String?

  init(_ uri: String) {
    let query = uri.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
    user = WebSocketQuery.member("user=", query)
    account = WebSocketQuery.member("account=", query)
  }

  /// A member of the query, percent-decoded, or nil.
  private static func member(_ name: String, _ query: Substring) -> String? {
    guard let pair = query.split(separator: "&").first(where: { $0.hasPrefix(name) })
    else { return nil }
    var bytes: [UInt8] = []
    var rest = pair.utf8.dropFirst(name.utf8.count)
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2)
      if byte == UInt8(ascii: "%"), digits.count == 2,
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty, bytes.count <= 256
    else { return nil }
    return text
  }
}

/// Cuts the stream at line feeds; a carriage return before one goes with it.
private struct LineDecoder: ByteToMessageDecoder {
  typealias InboundOut = ByteBuffer

  /// How far the waiting bytes are known to hold no line feed.
  private var searched = 0

  mutating func decode(
    context: ChannelHandlerContext, buffer: inout ByteBuffer
  ) throws -> DecodingState {
    let view = buffer.readableBytesView
    let start = view.startIndex
    guard let end = view[(start + min(searched, view.count))...].firstIndex(of: 0x0A) else {
      searched = view.count
      return .needMoreData
    }
    searched = 0
    let line = buffer.readSlice(length: end - start)
    buffer.moveReaderIndex(forwardBy: 1)
    if let line { context.fireChannelRead(wrapInboundOut(line)) }
    return .continue
  }

  mutating func decodeLast(
    context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
  ) throws -> DecodingState {
    while try decode(context: context, buffer: &buffer) == .continue {}
    return .needMoreData
  }
}

/// Takes lines of one TCP connection to the world.
private final class LineHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let world: World
  private var connection: Connection?

  init(_ world: World) {
    self.world = world
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let connection = Connection(context.channel, .lines)
    self.connection = connection
    world.join(connection)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = Array(unwrapInboundIn(data).readableBytesView)
    if bytes.last == 0x0D { bytes.removeLast() }
    guard let connection, !bytes.isEmpty else { return }
    world.receive(bytes, from: connection)
  }

  func channelInactive(context: ChannelHandlerContext) {
    if let connection { world.leave(connection) }
    connection = nil
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}

/// Takes messages of one WebSocket to the world.
private final class WebSocketHandler: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let world: World
  private let query: WebSocketQuery
  private var connection: Connection?

  init(_ world: World, query: WebSocketQuery) {
    self.world = world
    self.query = query
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let connection = Connection(context.channel, .webSocket)
    self.connection = connection
    world.join(connection)
    if let user = query.user {
      world.login(connection, user, query.account ?? World.account)
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .text, .binary:
      guard let connection else { return }
      world.receive(Array(frame.unmaskedData.readableBytesView), from: connection)
    case .ping:
      let pong = WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)
      context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
    case .connectionClose:
      // Answered with the peer's own code, then closed, as the standard asks.
      var data = frame.unmaskedData
      let code = data.readSlice(length: 2) ?? ByteBuffer()
      let answer = WebSocketFrame(fin: true, opcode: .connectionClose, data: code)
      let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
      context.writeAndFlush(wrapOutboundOut(answer)).whenComplete { _ in
        bound.value.close(promise: nil)
      }
    default: break
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if let connection { world.leave(connection) }
    connection = nil
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}

/// Tells a browser that comes without a WebSocket what this port is for.
private final class PlainHTTPHandler: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .end = unwrapInboundIn(data) else { return }
    var headers = HTTPHeaders()
    headers.add(name: "Upgrade", value: "websocket")
    headers.add(name: "Connection", value: "close")
    headers.add(name: "Content-Length", value: "0")
    let head = HTTPResponseHead(version: .http1_1, status: .upgradeRequired, headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
      bound.value.close(promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
