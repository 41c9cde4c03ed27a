import Foundation
import NetKit

/// Uploads below a rate or without line ends: a task moves the bytes from a source into a bound pair.
enum PacedUpload {
    /// The stream of a source at a rate.
    ///
    /// - Parameters:
    ///   - rate: the greatest number of bytes per second; nil for no limit.
    ///   - source: the unopened source.
    ///   - beginning: bytes to send before those of the source.
    ///   - omitsLineEnds: whether the bytes CR, LF and NUL are left out.
    static func stream(
        _ rate: Int64?, _ source: ReadStream, after beginning: [UInt8] = [], omitsLineEnds: Bool = false
    ) -> ReadStream {
        if rate == nil, !omitsLineEnds, beginning.isEmpty { return source }
        let limit = rate.map(RateLimit.init)
        let pair = StreamPair.bound(bufferSize: limit?.pieceSize ?? ReadStream.chunkSize)
        Task { await move(source, after: beginning, to: pair.output, limit, omitsLineEnds) }
        return pair.input
    }

    private static func move(
        _ source: ReadStream, after beginning: [UInt8], to output: WriteStream, _ limit: RateLimit?,
        _ omitsLineEnds: Bool
    ) async {
        var limit = limit
        let start = ContinuousClock.now
        var buffer = [UInt8](repeating: 0, count: limit?.pieceSize ?? ReadStream.chunkSize)
        defer { source.close() }
        do throws(StreamError) {
            try source.open()
        } catch {
            fail(error)
        }
        guard (try? output.open()) != nil else { return }
        var beginning = beginning[...]
        while true {
            var piece = Array(beginning.prefix(buffer.count))
            beginning = beginning.dropFirst(piece.count)
            if piece.isEmpty {
                let count: Int
                do throws(StreamError) {
                    count = try await source.read(into: &buffer)
                } catch {
                    fail(error)
                }
                if count == 0 { break }
                piece = Array(buffer[..<count])
            }
            if omitsLineEnds { UploadSource.removeLineEnds(from: &piece) }
            // Fails once the load has closed the reader.
            if !piece.isEmpty, (try? await output.writeAll(piece)) == nil { return }
            let pause = limit?.pause(after: piece.count, now: start.duration(to: .now) / .seconds(1))
            if let pause, pause > .zero { try? await EventLoop.shared.sleep(for: pause) }
        }
        output.close()
    }

    /// Ends the program: the end of the pair would make a body of unknown length look complete.
    private static func fail(_ error: StreamError) -> Never {
        Terminal.say("netkit: The upload cannot be read: \(error)")
        exit(ExitStatus.localFile.rawValue)
    }
}
