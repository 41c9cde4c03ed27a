import Foundation
import NetKit

/// Uploads below a rate: a task moves the bytes from a source into a bound pair, with pauses.
enum PacedUpload {
    /// The stream of a source at a rate.
    ///
    /// - Parameters:
    ///   - rate: the greatest number of bytes per second.
    ///   - source: the unopened source.
    static func stream(_ rate: Int64, _ source: ReadStream) -> ReadStream {
        let limit = RateLimit(rate: rate)
        let pair = StreamPair.bound(bufferSize: limit.pieceSize)
        Task { await move(source, to: pair.output, limit) }
        return pair.input
    }

    private static func move(_ source: ReadStream, to output: WriteStream, _ limit: RateLimit) async {
        var limit = limit
        let start = ContinuousClock.now
        var buffer = [UInt8](repeating: 0, count: limit.pieceSize)
        defer { source.close() }
        do throws(StreamError) {
            try source.open()
        } catch {
            fail(error)
        }
        guard (try? output.open()) != nil else { return }
        while true {
            let count: Int
            do throws(StreamError) {
                count = try await source.read(into: &buffer)
            } catch {
                fail(error)
            }
            if count == 0 { break }
            // Fails once the load has closed the reader.
            guard (try? await output.writeAll(Array(buffer[..<count]))) != nil else { return }
            let pause = limit.pause(after: count, now: start.duration(to: .now) / .seconds(1))
            if pause > .zero { try? await Task.sleep(for: pause) }
        }
        output.close()
    }

    /// Ends the program: the end of the pair would make a body of unknown length look complete.
    private static func fail(_ error: StreamError) -> Never {
        Terminal.say("netkit: The upload cannot be read: \(error)")
        exit(ExitStatus.localFile.rawValue)
    }
}
