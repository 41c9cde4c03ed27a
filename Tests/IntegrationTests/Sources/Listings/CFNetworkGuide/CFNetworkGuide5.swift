public import NetKit

extension CFNetworkGuide {
    /// FTP: the pumps between a remote and a local stream.
    public enum Chapter5 {
        /// 5-1: what both streams of a transfer need to know. It is handed to the callback by being captured.
        public struct Listing1: Sendable {
            /// Where bytes go.
            public let writeStream: WriteStream
            /// Where they come from.
            public let readStream: ReadStream
            /// The size, once the server has told it.
            public var fileSize: UInt64?
            /// How many bytes were written.
            public var totalBytesWritten = 0
            /// Bytes that were read and not taken yet, from its first on.
            public var leftOver: ArraySlice<UInt8> = []
            /// How many bytes one read takes.
            public var bufferSize = 4096

            /// Couples two streams.
            public init(reading readStream: ReadStream, writing writeStream: WriteStream) {
                self.readStream = readStream
                self.writeStream = writeStream
            }
        }

        /// 5-2: in the event "has bytes", writes what one read gives to the other stream. False at the end.
        ///
        /// The guide's listing jumps to a label that it does not show; here what fails is thrown.
        public static func listing2(_ info: inout Listing1) throws(StreamError) -> Bool {
            let bytes = try info.readStream.read(upTo: info.bufferSize)
            if bytes.isEmpty { return false }
            try info.writeStream.writeAll(bytes)
            info.fileSize = info.readStream[.ftpResourceSize]
            info.totalBytesWritten += bytes.count
            return true
        }

        /// 5-3: in the event "can accept bytes", writes as long as the stream takes more at once; what it does not take is
        /// kept for the next event. False once everything was written and the stream is closed.
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

        /// 5-4: in the event "has bytes" of a listing, reads behind what was left over. False at the end.
        public static func listing4(_ info: inout Listing1) throws(StreamError) -> Bool {
            let bytes = try info.readStream.read(upTo: info.bufferSize)
            info.leftOver += bytes
            return !bytes.isEmpty
        }

        /// 5-5: takes whole lines from what was read and gives their entries; half a line stays for the next time. At the end
        /// a line without a line end counts, too.
        ///
        /// The guide's listing does not begin its count anew at each call, and leaves the rest of a line where the next read
        /// writes over it.
        public static func listing5(
            _ info: inout Listing1, _ parser: inout ListingParser, atEnd: Bool
        ) throws(ListingError) -> [ListingEntry] {
            var entries: [ListingEntry] = []
            let buffer = Array(info.leftOver)
            var place = 0
            while case let step = try parser.parse(buffer.span.bytes.extracting(droppingFirst: place)),
                step.consumed > 0
            {
                if let entry = step.entry { entries.append(entry) }
                place += step.consumed
            }
            if atEnd, let last = try parser.finish(buffer.span.bytes.extracting(droppingFirst: place)) {
                entries.append(last)
                place = buffer.count
            }
            info.leftOver = buffer[place...]
            return entries
        }
    }
}
