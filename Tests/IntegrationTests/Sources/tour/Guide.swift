import Foundation
import NetKitFoundation

/// Prints the stops: on a terminal in colours and with the present one, otherwise in plain lines.
final class Guide {
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private let hasColors = isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
    private(set) var stops = 0

    /// Makes one stop and prints its result. An error ends the tour.
    func stop(_ name: String, _ visit: () async throws -> String) async {
        let title = styled("1", name.padding(toLength: 13, withPad: " ", startingAt: 0))
        if isTerminal { write("\(title) …") }
        do {
            let story = try await visit()
            stops += 1
            say("\(isTerminal ? "\r\u{1b}[K" : "")\(title) \(styled("32", "✔")) \(story)")
        } catch {
            say("\(isTerminal ? "\r\u{1b}[K" : "")\(title) \(styled("31", "✘")) \(error)")
            exit(1)
        }
    }

    func say(_ line: String) { write(line + "\n") }

    private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

    private func styled(_ code: String, _ text: String) -> String {
        hasColors ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}
