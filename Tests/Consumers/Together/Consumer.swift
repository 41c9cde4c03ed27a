import Foundation
import HTTPMessage
import NetKit
import RunLoopDelivery

/// The umbrella beside two of the packages that it is made of: there is one of each, and their types are the same.
@main struct Consumer {
    static func main() throws {
        guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
            fatalError("which URL?")
        }
        let request: HTTPMessage.HTTPRequest = try HTTPRequest(method: .get, url: url)
        let stream = ReadStream(request: request)
        let count = Locked(0)
        let isDone = Locked(false)
        stream.setClient(.all) { stream, event in
            switch event {
            case .hasBytesAvailable: count.withLock { $0 += (try? stream.read(upTo: 4096).count) ?? 0 }
            case .endEncountered, .errorOccurred: isDone.withLock { $0 = true }
            default: break
            }
        }
        stream.schedule(on: .currentRunLoop)
        try stream.open()
        while !isDone.withLock({ $0 }), RunLoop.current.run(mode: .default, before: .distantFuture) {}
        let status = stream[.httpResponse]?.status.code ?? 0
        stream.close()
        print("\(status) on a run loop, \(count.withLock { $0 }) bytes")
    }
}
