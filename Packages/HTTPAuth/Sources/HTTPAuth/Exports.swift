// The API of this module uses the types of HTTPMessage, so importing it imports them too.
@_exported public import HTTPMessage
