"""Tables and pages: a table is declared once and shown in a terminal, on a page, in a document or a spreadsheet."""
