import EventLoops
import StreamKit
import StreamKitTesting

extension Wire {
    private static let authority = SharedAuthority()

    /// TLS on both ends, from server to client.
    func secured() throws -> BytePipe {
        let (reader, writer) = try securedPairs()
        return BytePipe(reader: reader, writer: writer)
    }

    /// The same, with layers below and above that split all data.
    func securedInPieces() throws -> BytePipe {
        let (reader, writer) = try securedPairs()
        let reading = StreamPair(transport: FragmentingTransport(over: PairTransport(reader), pieceSize: 5001))
        let writing = StreamPair(transport: FragmentingTransport(over: PairTransport(writer), pieceSize: 5003))
        return BytePipe(reader: reading, writer: writing)
    }

    private func securedPairs() throws -> (reader: StreamPair, writer: StreamPair) {
        var client = Wire.authority.client
        client.peerName = "www.example.org"
        let reader = reader(.owned)
        let writer = writer(.owned)
        try reader.set(.tls, to: client)
        try writer.set(.tls, to: Wire.authority.server)
        return (reader, writer)
    }
}
