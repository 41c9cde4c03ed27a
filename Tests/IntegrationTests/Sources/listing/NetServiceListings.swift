import Foundation
import Listings
import NetKitFoundation

/// Runs the listings of the services guide in their original form, on a thread with a run loop. Reports in lines, and ends after
/// two minutes at most.
enum NetServiceListings {
    private static let engine = DiscoveryEngine.embedded

    static func run(_ number: String, _ words: [String]) throws {
        let end = Date(timeIntervalSinceNow: 120)
        var isDone = false
        func turn() {
            while !isDone, Date() < end, RunLoop.current.run(mode: .default, before: end) {}
        }
        switch number {
        case "2-1":
            let teller = PublishingDelegate()
            let service = NetServiceGuide.Chapter2.listing1(
                port: Int32(words[0]) ?? 0, delegate: teller, engine: engine)
            turn()
            service.stop()
        case "3-1":
            var known: [String] = []
            let list = NetServiceGuide.Chapter3.Listing3 { list in
                let names = list.services.map(\.name)
                for name in names where !known.contains(name) { say("+ \(name)") }
                for name in known where !names.contains(name) { say("- \(name)") }
                if known.isEmpty, names.isEmpty { say(list.isSearching ? "searching" : "stopped") }
                known = names
            }
            let browser = NetServiceGuide.Chapter3.listing1(words[0], delegate: list, engine: engine)
            turn()
            browser.stop()
        case "4-1":
            guard let (input, output) = NetServiceGuide.Chapter4.listing1(service(words)) else { return say("nothing") }
            defer { output.close() }
            say(all(of: input))
        case "4-2":
            let resolver = NetServiceGuide.Chapter4.Listing4 { service, error in
                say(error.map { "error \($0)" } ?? "\(service.hostName ?? "") \(service.port)")
                isDone = true
            }
            resolver.add(
                NetServiceGuide.Chapter4.listing2(words[0], type: words[1], delegate: resolver, engine: engine))
            turn()
        case "4-5":
            try NetServiceGuide.Chapter4.listing5(service(words))
            say("doubted")
        case "B-1":
            let list = NetServiceGuide.AppendixB.Listing3 { list in
                for domain in list.domains { say("+ \(domain)") }
                isDone = true
            }
            let browser = NetServiceGuide.AppendixB.listing1(delegate: list, engine: engine)
            turn()
            browser.stop()
        default:
            say("error: there is no listing '\(number)' here")
            exit(64)
        }
    }

    private static func service(_ words: [String]) -> NetService {
        NetService(domain: "local.", type: words[1], name: words[0], engine: engine)
    }

    private static func all(of input: InputStream) -> String {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1000)
        var count = 0
        repeat {
            count = input.read(&buffer, maxLength: buffer.count)
            text += buffer[..<max(0, count)]
        } while count > 0
        input.close()
        if count < 0 { return "error: \(input.streamError?.localizedDescription ?? "")" }
        return String(decoding: text, as: UTF8.self)
    }

    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    /// The delegate of 2-1, which the guide leaves to its reader.
    private final class PublishingDelegate: NSObject, NetServiceDelegate {
        func netServiceDidPublish(_ sender: NetService) { say("published \(sender.name)") }
        func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {
            say("error \(errorDict[NetService.errorCode] ?? 0)")
        }
    }
}
