internal import BenchmarkRows
internal import CMeasure
internal import NIOCore
internal import NIOEmbedded
internal import NIOHTTP1

let httpRows = [
    Row("parse-request") { arguments in
        let message = ByteBuffer(bytes: arguments.bytes("file"))
        let count = arguments.number("count")
        let channel = EmbeddedChannel()
        let heads = HeadCounter<HTTPServerRequestPart> {
            if case .head(let head) = $0 { head.headers.count } else { 0 }
        }
        try channel.pipeline.syncOperations.addHandlers(ByteToMessageHandler(HTTPRequestDecoder()), heads)
        measure_begin()
        for _ in 0..<count { try channel.writeInbound(message) }
        measure_note("fields", Double(heads.fields))
        measure_end(Double(count), Double(count * message.readableBytes))
    },
    Row("parse-response") { arguments in
        let message = ByteBuffer(bytes: arguments.bytes("file"))
        let count = arguments.number("count")
        let channel = EmbeddedChannel()
        let heads = HeadCounter<HTTPClientResponsePart> {
            if case .head(let head) = $0 { head.headers.count } else { 0 }
        }
        try channel.pipeline.syncOperations.addHandlers(
            HTTPRequestEncoder(),
            ByteToMessageHandler(HTTPResponseDecoder()),
            heads
        )
        // The decoder accepts a response only after a request was sent, so this row includes both.
        let request = HTTPRequestHead(version: .http1_1, method: .HEAD, uri: "/")
        measure_begin()
        for _ in 0..<count {
            try channel.writeOutbound(HTTPClientRequestPart.head(request))
            try channel.writeOutbound(HTTPClientRequestPart.end(nil))
            while try channel.readOutbound(as: IOData.self) != nil {}
            try channel.writeInbound(message)
        }
        measure_note("fields", Double(heads.fields))
        measure_end(Double(count), Double(count * message.readableBytes))
    },
    Row("serialize") { arguments in
        let count = arguments.number("count")
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(HTTPRequestEncoder())
        var headers = HTTPHeaders()
        for index in 0..<10 {
            headers.add(name: "X-Header-Name-\(index)", value: "some typical header value number \(index)")
        }
        let head = HTTPRequestHead(
            version: .http1_1, method: .GET, uri: "/images/2010/03/a-typical-path.jpg", headers: headers)
        var bytes = 0
        measure_begin()
        for _ in 0..<count {
            try channel.writeOutbound(HTTPClientRequestPart.head(head))
            while let buffer = try channel.readOutbound(as: ByteBuffer.self) { bytes += buffer.readableBytes }
        }
        measure_end(Double(count), Double(bytes))
    },
]

/// Counts the fields of the heads, so that each must be parsed.
private final class HeadCounter<Part>: ChannelInboundHandler {
    typealias InboundIn = Part

    private(set) var fields = 0
    private let fieldsOf: (Part) -> Int

    init(fieldsOf: @escaping (Part) -> Int) {
        self.fieldsOf = fieldsOf
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        fields += fieldsOf(unwrapInboundIn(data))
    }
}
