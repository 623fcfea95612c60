import './style.css' // before the styles that the views import
import { render } from 'preact'
import './style.css' // first, before the styles of views
import { App } from './app'

render(<App />, document.getElementById('app')!)
