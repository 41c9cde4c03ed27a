public import NetKit

extension CFNetworkGuide {
    /// FTP: transfers between a remote and a local stream.
    public enum Chapter5 {
        /// 5-1: the state of a transfer, for both streams. The callback captures it.
        public struct Listing1: Sendable {
            /// The destination of the bytes.
            public let writeStream: WriteStream
            /// The source of the bytes.
            public let readStream: ReadStream
            /// The size, once the server has reported it.
            public var fileSize: UInt64?
            /// The number of bytes written.
            public var totalBytesWritten = 0
            /// Bytes that were read and not accepted yet, at the front.
            public var leftOver: ArraySlice<UInt8> = []
            /// The number of bytes for one read.
            public var bufferSize = 4096

            /// Connects two streams.
            public init(reading readStream: ReadStream, writing writeStream: WriteStream) {
                self.readStream = readStream
                self.writeStream = writeStream
            }
        }

        /// 5-2: in the event "has bytes", reads once and writes the bytes to the other stream. False at the end.
        ///
        /// The guide's listing jumps to a label that it does not show; here errors are thrown.
        public static func listing2(_ info: inout Listing1) throws(StreamError) -> Bool {
            let bytes = try info.readStream.read(upTo: info.bufferSize)
            if bytes.isEmpty { return false }
            try info.writeStream.writeAll(bytes)
            info.fileSize = info.readStream[.ftpResourceSize]
            info.totalBytesWritten += bytes.count
            return true
        }

        /// 5-3: in the event "can accept bytes", writes as long as the stream accepts bytes without waiting; the rest is kept for the
        /// next event. False once everything is written and the stream is closed.
        ///
        /// The guide's listing writes the end of the file as zero bytes and leaves the remote stream open. `finish()` ends
        /// the upload, and waits for the server to confirm it.
        public static func listing3(_ info: inout Listing1) throws(StreamError) -> Bool {
            repeat {
                if info.leftOver.isEmpty {
                    info.leftOver = try info.readStream.read(upTo: info.bufferSize)[...]
                    if info.leftOver.isEmpty {
                        try info.writeStream.finish()
                        return false
                    }
                }
                let count = try info.writeStream.write(Array(info.leftOver))
                info.leftOver = info.leftOver.dropFirst(count)
                info.totalBytesWritten += count
            } while info.writeStream.canAcceptBytes
            return true
        }

        /// 5-4: in the event "has bytes" of a listing, appends the bytes read to the rest of the previous ones. False at the end.
        public static func listing4(_ info: inout Listing1) throws(StreamError) -> Bool {
            let bytes = try info.readStream.read(upTo: info.bufferSize)
            info.leftOver += bytes
            return !bytes.isEmpty
        }

        /// 5-5: removes complete lines from the bytes read and returns their entries; an incomplete line remains for the next call.
        /// At the end, a line without a line end counts, too.
        ///
        /// The guide's listing does not reset its count at each call, and leaves the rest of a line where the next read overwrites
        /// it.
        public static func listing5(
            _ info: inout Listing1, _ parser: inout ListingParser, atEnd: Bool
        ) throws(ListingError) -> [ListingEntry] {
            var entries: [ListingEntry] = []
            let buffer = Array(info.leftOver)
            var offset = 0
            while case let step = try parser.parse(buffer.span.bytes.extracting(droppingFirst: offset)),
                step.consumed > 0
            {
                if let entry = step.entry { entries.append(entry) }
                offset += step.consumed
            }
            if atEnd {
                entries += try parser.finish(buffer.span.bytes.extracting(droppingFirst: offset))
                offset = buffer.count
            }
            info.leftOver = buffer[offset...]
            return entries
        }
    }
}
