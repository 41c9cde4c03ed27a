import ArgumentParser
import Foundation
import NetKit

/// One `-F`: `NAME=TEXT`, `NAME=@FILE` to send a file as such, or `NAME=<FILE` to send its contents as a text; `-` is standard
/// input. `;type=TYPE` and `;filename=NAME` may follow. As with curl, a text or a name in double quotes may contain semicolons;
/// in the quotes, a backslash escapes a quote or a backslash. Blanks around a text without quotes, and behind a semicolon, are left out.
struct FormPart {
    private enum Content {
        case text(String)
        case textOf(file: String)
        case file(String)
    }

    private let name: String
    private let content: Content
    private var type: String?
    private var fileName: String?

    /// Whether the contents are standard input, which can be read once.
    var readsStandardInput: Bool {
        switch content {
        case .textOf("-"), .file("-"): true
        case .text, .textOf, .file: false
        }
    }

    init(_ text: String) throws {
        let parts = text.unicodeScalars.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else {
            throw ValidationError("-F '\(text)' is not a part of a form; use NAME=VALUE or NAME=@FILE.")
        }
        name = String(parts[0])
        var rest = parts[1]
        let mark = rest.first
        if mark == "@" || mark == "<" {
            rest = rest.dropFirst()
            let path = FormPart.word(&rest)
            content = mark == "@" ? .file(path) : .textOf(file: path)
        } else if rest.first == "\"" {
            content = .text(FormPart.word(&rest))
        } else {
            // A text may contain any characters: only parameters at its end are separated.
            let end = FormPart.endOfText(rest)
            content = .text(String(rest[..<end]).trimmingCharacters(in: .whitespacesAndNewlines))
            rest = rest[end...]
        }
        while !rest.isEmpty {
            rest = rest.dropFirst()
            let parameter = FormPart.parameter(&rest)
            switch parameter.name {
            case "type" where parameter.value.utf8.contains(UInt8(ascii: ",")):
                throw ValidationError("-F '\(text)': a part has one file; repeat -F for another one.")
            case "type": type = parameter.value
            case "filename": fileName = parameter.value
            default:
                // A parameter of the type itself, such as a character set.
                guard let type, !["headers", "encoder"].contains(parameter.name) else {
                    throw ValidationError(
                        "-F '\(text)': '\(parameter.text)' is neither type=TYPE nor filename=NAME.")
                }
                self.type = "\(type); \(parameter.text)"
            }
        }
    }

    /// A text of `--form-string` as one of `-F`: `NAME="VALUE"`.
    static func quoted(_ text: String) -> String {
        let parts = text.unicodeScalars.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return text }
        var value = String.UnicodeScalarView()
        for scalar in parts[1] {
            if scalar == "\"" || scalar == "\\" { value.append("\\") }
            value.append(scalar)
        }
        return "\(Substring(parts[0]))=\"\(String(value))\""
    }

    func append(to form: inout MultipartForm) throws {
        switch content {
        case .text(let text): try append(Array(text.utf8), to: &form)
        case .textOf(let file):
            try append(UploadSource.contents(of: file), to: &form)
        case .file("-"):
            try form.append(
                name, bytes: UploadSource.contents(of: "-"), fileName: fileName ?? "-",
                contentType: type ?? "application/octet-stream")
        case .file(let file):
            if let failure = OutputFile.Failure(reading: file) { throw failure }
            try form.append(name, file: file, fileName: fileName, contentType: type)
        }
    }

    private func append(_ bytes: [UInt8], to form: inout MultipartForm) throws {
        try form.append(name, bytes: bytes, fileName: fileName, contentType: type)
    }

    /// The index at which the parameters of a text begin. Behind a type, those of the type itself may follow.
    private static func endOfText(_ text: Substring.UnicodeScalarView) -> String.Index {
        var end = text.endIndex
        var next = end
        while let mark = text[..<next].lastIndex(of: ";") {
            let parameter = String(text[mark..<next].dropFirst().drop(while: isBlank)).lowercased()
            let isType = parameter.hasPrefix("type=")
            // What is between has no name: it belongs to a type, if one comes before.
            if isType && (next == end || parameter.contains("/")) || parameter.hasPrefix("filename=") && next == end {
                end = mark
            }
            next = mark
        }
        return end
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" }

    /// Takes the next parameter, up to a semicolon.
    private static func parameter(
        _ rest: inout Substring.UnicodeScalarView
    ) -> (name: String, value: String, text: String) {
        rest = rest.drop(while: isBlank)
        let name = rest.prefix { $0 != "=" && $0 != ";" && $0 != "\"" }
        let start = rest
        rest = rest[name.endIndex...]
        if rest.first == "=" { rest = rest.dropFirst() }
        let value = word(&rest)
        return (String(name).lowercased(), value, String(start[..<rest.startIndex]))
    }

    /// Takes a word, which may be in double quotes, and what follows it up to a semicolon.
    private static func word(_ rest: inout Substring.UnicodeScalarView) -> String {
        var word = String.UnicodeScalarView()
        if rest.first == "\"", let end = closingQuote(of: rest) {
            var isEscaped = false
            for scalar in rest[..<end].dropFirst() {
                if scalar == "\\", !isEscaped {
                    isEscaped = true
                    continue
                }
                if isEscaped, scalar != "\"", scalar != "\\" { word.append("\\") }
                word.append(scalar)
                isEscaped = false
            }
            rest = rest[end...].dropFirst().drop { $0 != ";" }
        } else {
            word += rest.prefix { $0 != ";" }
            rest = rest.drop { $0 != ";" }
        }
        return String(word)
    }

    /// The index of the quote that ends a quoted word; nil without one.
    private static func closingQuote(of text: Substring.UnicodeScalarView) -> String.Index? {
        var isEscaped = false
        for index in text.indices.dropFirst() {
            if isEscaped {
                isEscaped = false
            } else if text[index] == "\\" {
                isEscaped = true
            } else if text[index] == "\"" {
                return index
            }
        }
        return nil
    }
}
