import Foundation
import NetKitFoundation

/// The diagnosis of a failure.
enum Diagnoses {
    static func explain() async throws -> String {
        guard let url = URL(string: "http://127.0.0.1:1/") else { throw Surprise("no URL") }
        let stream = try ReadStream(httpURL: url)
        do throws(StreamError) {
            try stream.open()
            _ = try await stream.readAll(limit: 100)
        } catch {
            let diagnosis = try await NetDiagnostic(load: stream, of: url).diagnose()
            guard let cause = diagnosis.cause else { throw Surprise("no cause was found: \(diagnosis)") }
            return "from a stream that failed: the \(cause.rung). \(cause.sentence) \(cause.advice)"
        }
        throw Surprise("port 1 has a listener")
    }
}
